#include "ops/broadcast.h"

#include <cstring>

namespace reprise {

Strides broadcast_strides(const TensorView& view, const Shape& shape) {
  Strides strides = shape;
  int lead = shape.size() - view.shape.size();
  for (int a = 0; a < shape.size(); ++a) {
    strides[a] = a < lead || view.shape[a - lead] == 1 ? 0 : view.strides[a - lead];
  }
  return strides;
}

TensorView broadcast_view(const TensorView& view, const Shape& shape) {
  return {view.data, view.dtype, shape, broadcast_strides(view, shape)};
}

LoopPlan plan_loops(const Shape& shape, const TensorView* const* views, int count) {
  LoopPlan plan;
  plan.operands = count;
  plan.count = element_count(shape);
  Strides strides[kMaxLoopOperands];
  for (int k = 0; k < plan.operands; ++k) strides[k] = broadcast_strides(*views[k], shape);
  int rank = 0;
  for (int a = 0; a < shape.size(); ++a) {
    if (shape[a] == 1) continue;
    bool merges = rank > 0;
    for (int k = 0; k < plan.operands && merges; ++k) {
      merges = plan.stride[k][rank - 1] == shape[a] * strides[k][a];
    }
    if (!merges) plan.extent[rank++] = 1;
    plan.extent[rank - 1] *= shape[a];
    for (int k = 0; k < plan.operands; ++k) plan.stride[k][rank - 1] = strides[k][a];
  }
  plan.rank = std::max(rank, 1);
  return plan;
}

LoopCursor::LoopCursor(const LoopPlan& plan, std::int64_t flat) : plan_(plan) {
  for (int a = plan.rank - 1; a >= 0; --a) {
    index_[a] = flat % plan.extent[a];
    flat /= plan.extent[a];
    for (int k = 0; k < plan.operands; ++k) offset_[k] += index_[a] * plan.stride[k][a];
  }
}

void LoopCursor::advance(std::int64_t n) {
  int a = plan_.rank - 1;
  index_[a] += n;
  for (int k = 0; k < plan_.operands; ++k) offset_[k] += n * plan_.stride[k][a];
  while (a > 0 && index_[a] == plan_.extent[a]) {
    for (int k = 0; k < plan_.operands; ++k) {
      offset_[k] += plan_.stride[k][a - 1] - plan_.extent[a] * plan_.stride[k][a];
    }
    index_[a] = 0;
    ++index_[--a];
  }
}

namespace loops {

namespace {

// Everything next to each other or a single element: no plan is needed.
bool run_flat(MapKernel kernel, const void* functor, const TensorView& out, const TensorView* const* in, int count) {
  std::int64_t size = out.size();
  if (!out.contiguous()) return false;
  std::int64_t step[kMaxLoopOperands];
  for (int k = 0; k < count; ++k) {
    std::int64_t elements = in[k]->size();
    step[k] = elements == 1 ? 0 : 1;
    if (elements != 1 && (elements != size || !in[k]->contiguous())) return false;
  }
  if (size == 1) std::fill_n(step, count, 1);
  std::int64_t item = size_of(out.dtype);
  parallel_blocks(size, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    RunInputs inputs;
    for (int k = 0; k < count; ++k) {
      inputs.data[k] = in[k]->data + begin * step[k] * size_of(in[k]->dtype);
      inputs.stride[k] = step[k];
    }
    kernel(functor, out.data + begin * item, 1, inputs, end - begin);
  });
  return true;
}

}  // namespace

void run_map(MapKernel kernel, const void* functor, const TensorView& out, const TensorView* const* in, int count) {
  if (out.size() == 0 || run_flat(kernel, functor, out, in, count)) return;
  const TensorView* views[kMaxLoopOperands] = {&out};
  std::copy_n(in, count, views + 1);
  LoopPlan plan = plan_loops(out.shape, views, count + 1);
  int inner = plan.rank - 1;
  for_each_run(plan, [&](const std::int64_t* offsets, std::int64_t n) {
    RunInputs inputs;
    for (int k = 0; k < count; ++k) {
      inputs.data[k] = in[k]->data + offsets[k + 1] * size_of(in[k]->dtype);
      inputs.stride[k] = plan.stride[k + 1][inner];
    }
    kernel(functor, out.data + offsets[0] * size_of(out.dtype), plan.stride[0][inner], inputs, n);
  });
}

}  // namespace loops

void copy_elements(const TensorView& to, const TensorView& from) {
  if (to.shape == from.shape && to.contiguous() && from.contiguous()) {
    if (to.data == from.data) return;
    parallel_blocks(to.bytes(), std::int64_t{1} << 18, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to.data + begin, from.data + begin, static_cast<std::size_t>(end - begin));
    });
    return;
  }
  auto move = [](auto x) { return x; };
  switch (size_of(to.dtype)) {
    case 1: return map_elements<std::uint8_t, std::uint8_t>(move, to, from);
    case 2: return map_elements<std::uint16_t, std::uint16_t>(move, to, from);
    case 4: return map_elements<std::uint32_t, std::uint32_t>(move, to, from);
    default: return map_elements<std::uint64_t, std::uint64_t>(move, to, from);
  }
}

void fill_zero(const TensorView& view) {
  parallel_blocks(view.bytes(), std::int64_t{1} << 18, [&](std::int64_t begin, std::int64_t end) {
    std::memset(view.data + begin, 0, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace reprise
