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
bool run_flat(MapKernel kernel, const void* functor, const TensorView& out, std::int64_t size,
              const TensorView* const* in, int count) {
  if (!out.contiguous()) return false;
  std::int64_t step[kMaxLoopOperands];
  for (int k = 0; k < count; ++k) {
    if (in[k]->shape == out.shape && in[k]->strides == out.strides) {
      step[k] = 1;
      continue;
    }
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
  std::int64_t size = out.size();
  if (size == 0 || run_flat(kernel, functor, out, size, in, count)) return;
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

namespace {

constexpr std::int64_t kCopyTile = 32;                       // rows and columns of a tile of a transposing copy
constexpr std::int64_t kBytesGrain = std::int64_t{1} << 18;  // plain copying and clearing, for one thread at a time

// Axis along which `from` lies next to each other while `to` does so along the innermost one; -1 when there is none.
int crossed_axis(const LoopPlan& plan) {
  int inner = plan.rank - 1;
  if (plan.stride[0][inner] != 1 || plan.stride[1][inner] <= 1 || plan.extent[inner] < 8) return -1;
  for (int a = 0; a < inner; ++a) {
    if (plan.stride[1][a] == 1 && plan.extent[a] >= 8) return a;
  }
  return -1;
}

// A transposing copy, in square tiles, so that cache lines are used whole on both sides.
template <class T>
void copy_crossed(const LoopPlan& plan, int axis, T* to, const T* from) {
  int inner = plan.rank - 1;
  std::int64_t strips = (plan.extent[axis] + kCopyTile - 1) / kCopyTile;
  std::int64_t outer = plan.count / (plan.extent[axis] * plan.extent[inner]);
  parallel_blocks(outer * strips, row_grain(kCopyTile * plan.extent[inner]), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) {
      std::int64_t first = item % strips * kCopyTile, flat = item / strips;
      std::int64_t last = std::min(first + kCopyTile, plan.extent[axis]);
      std::int64_t to_offset = 0, from_offset = 0;
      for (int a = inner - 1; a >= 0; --a) {
        if (a == axis) continue;
        to_offset += flat % plan.extent[a] * plan.stride[0][a];
        from_offset += flat % plan.extent[a] * plan.stride[1][a];
        flat /= plan.extent[a];
      }
      for (std::int64_t j0 = 0; j0 < plan.extent[inner]; j0 += kCopyTile) {
        std::int64_t j1 = std::min(j0 + kCopyTile, plan.extent[inner]);
        for (std::int64_t i = first; i < last; ++i) {
          T* row = to + to_offset + i * plan.stride[0][axis];
          const T* column = from + from_offset + i;
          for (std::int64_t j = j0; j < j1; ++j) row[j] = column[j * plan.stride[1][inner]];
        }
      }
    }
  });
}

template <class T>
void copy_words(const TensorView& to, const TensorView& from) {
  const TensorView* views[] = {&to, &from};
  LoopPlan plan = plan_loops(to.shape, views, 2);
  int axis = to.size() > kElementGrain / 4 ? crossed_axis(plan) : -1;
  if (axis >= 0) return copy_crossed(plan, axis, to.as<T>(), from.as<T>());
  map_elements<T, T>([](T x) { return x; }, to, from);
}

}  // namespace

void copy_elements(const TensorView& to, const TensorView& from) {
  if (to.shape == from.shape && to.contiguous() && from.contiguous()) {
    if (to.data == from.data) return;
    parallel_blocks(to.bytes(), kBytesGrain, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to.data + begin, from.data + begin, static_cast<std::size_t>(end - begin));
    });
    return;
  }
  switch (size_of(to.dtype)) {
    case 1: return copy_words<std::uint8_t>(to, from);
    case 2: return copy_words<std::uint16_t>(to, from);
    case 4: return copy_words<std::uint32_t>(to, from);
    default: return copy_words<std::uint64_t>(to, from);
  }
}

void fill_zero(const TensorView& view) {
  parallel_blocks(view.bytes(), kBytesGrain, [&](std::int64_t begin, std::int64_t end) {
    std::memset(view.data + begin, 0, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace reprise
