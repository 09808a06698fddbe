// Loops over elements of broadcast and strided operands: plans (axes merged where strides allow) and map_elements, the
// driver of every elementwise kernel. Header for kernels of this room; takes views, never allocates.
//
// Order of work: element i of every input is read before element i of the output is written, so an output may take
// over the memory of an input of the same shape.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "core/parallel.h"
#include "core/tensor.h"

namespace reprise {

constexpr int kMaxLoopOperands = 4;

/// Nested loops over a shape with one stride per axis and operand (0 where an operand is broadcast). Axes of extent 1
/// are gone and neighbours merged, so rank is small; it is at least 1.
struct LoopPlan {
  int rank = 1;
  int operands = 0;
  std::int64_t count = 1;
  std::int64_t extent[kMaxRank] = {1};
  std::int64_t stride[kMaxLoopOperands][kMaxRank] = {};
};

/// `views` are right-aligned to `shape`, as NumPy does; each must broadcast to it.
LoopPlan plan_loops(const Shape& shape, const TensorView* const* views, int count);

/// Strides of `view` as seen from `shape`: right-aligned, 0 along broadcast axes.
Strides broadcast_strides(const TensorView& view, const Shape& shape);

/// The odometer of a plan's outer axes: where each operand's element of a flat index lies.
class LoopCursor {
 public:
  LoopCursor(const LoopPlan& plan, std::int64_t flat);
  /// In elements, one per operand.
  const std::int64_t* offsets() const { return offset_; }
  /// Elements left on the innermost axis.
  std::int64_t run() const { return plan_.extent[plan_.rank - 1] - index_[plan_.rank - 1]; }
  /// Goes on by `n` elements, at most run().
  void advance(std::int64_t n);

 private:
  const LoopPlan& plan_;
  std::int64_t index_[kMaxRank] = {};
  std::int64_t offset_[kMaxLoopOperands] = {};
};

/// Calls body(offsets, n) for each innermost run of the plan, in parallel over fixed blocks.
template <class Body>
void for_each_run(const LoopPlan& plan, const Body& body, std::int64_t grain = kElementGrain) {
  parallel_blocks(plan.count, grain, [&](std::int64_t begin, std::int64_t end) {
    LoopCursor cursor(plan, begin);
    while (begin < end) {
      std::int64_t n = std::min(cursor.run(), end - begin);
      body(cursor.offsets(), n);
      begin += n;
      if (begin < end) cursor.advance(n);
    }
  });
}

namespace loops {

// How a loop reads one operand: next to each other, one and the same, or by a stride. The first two let it vectorise.
template <class T>
struct Unit {
  const T* p;
  T operator()(std::int64_t i) const { return p[i]; }
};
template <class T>
struct Same {
  T value;
  T operator()(std::int64_t) const { return value; }
};
template <class T>
struct Step {
  const T* p;
  std::int64_t stride;
  T operator()(std::int64_t i) const { return p[i * stride]; }
};

/// The operands of one run, as the drivers hand them to a kernel: first elements, and strides in elements.
struct RunInputs {
  const std::byte* data[kMaxLoopOperands - 1];
  std::int64_t stride[kMaxLoopOperands - 1];
};

/// Calls body(readers...): Unit and Same where all strides are 0 and 1 (three operands: all 1), else Step.
template <class... In, class Body>
void with_readers(const RunInputs& in, const Body& body) {
  using First = std::tuple_element_t<0, std::tuple<In...>>;
  if constexpr (sizeof...(In) == 1) {
    const First* a = reinterpret_cast<const First*>(in.data[0]);
    if (in.stride[0] == 1) return body(Unit<First>{a});
    if (in.stride[0] == 0) return body(Same<First>{*a});
    return body(Step<First>{a, in.stride[0]});
  } else if constexpr (sizeof...(In) == 2) {
    using Second = std::tuple_element_t<1, std::tuple<In...>>;
    const First* a = reinterpret_cast<const First*>(in.data[0]);
    const Second* b = reinterpret_cast<const Second*>(in.data[1]);
    if (in.stride[0] == 1 && in.stride[1] == 1) return body(Unit<First>{a}, Unit<Second>{b});
    if (in.stride[0] == 1 && in.stride[1] == 0) return body(Unit<First>{a}, Same<Second>{*b});
    if (in.stride[0] == 0 && in.stride[1] == 1) return body(Same<First>{*a}, Unit<Second>{b});
    return body(Step<First>{a, in.stride[0]}, Step<Second>{b, in.stride[1]});
  } else {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      if (((in.stride[I] == 1) && ...)) return body(Unit<In>{reinterpret_cast<const In*>(in.data[I])}...);
      body(Step<In>{reinterpret_cast<const In*>(in.data[I]), in.stride[I]}...);
    }
    (std::index_sequence_for<In...>{});
  }
}

using MapKernel = void (*)(const void* functor, std::byte* out, std::int64_t out_stride, const RunInputs& in,
                           std::int64_t n);

template <class F, class Out, class... In>
void map_kernel(const void* functor, std::byte* out_bytes, std::int64_t out_stride, const RunInputs& in,
                std::int64_t n) {
  const F& f = *static_cast<const F*>(functor);
  Out* out = reinterpret_cast<Out*>(out_bytes);
  if (out_stride == 1) {
    with_readers<In...>(in, [&](auto... readers) {
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) out[i] = f(readers(i)...);
    });
  } else {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      for (std::int64_t i = 0; i < n; ++i) {
        out[i * out_stride] = f(reinterpret_cast<const In*>(in.data[I])[i * in.stride[I]]...);
      }
    }
    (std::index_sequence_for<In...>{});
  }
}

/// Plans the loops and calls the kernel run by run. One function for all kernels: builds stay short.
void run_map(MapKernel kernel, const void* functor, const TensorView& out, const TensorView* const* in, int count);

}  // namespace loops

/// out = f(in...) element by element; every input broadcasts to out's shape. `In` are the element types in order.
template <class Out, class... In, class F, class... Views>
void map_elements(const F& f, const TensorView& out, const Views&... in) {
  static_assert(sizeof...(In) == sizeof...(Views) && sizeof...(In) < kMaxLoopOperands);
  const TensorView* views[] = {&in...};
  loops::run_map(&loops::map_kernel<F, Out, In...>, &f, out, views, static_cast<int>(sizeof...(In)));
}

/// Copies elements of any dtype between views of one dtype; `from` broadcasts to `to`.
void copy_elements(const TensorView& to, const TensorView& from);
/// All bytes of a contiguous view become 0.
void fill_zero(const TensorView& view);
/// `view` seen with `shape`: broadcast axes get stride 0.
TensorView broadcast_view(const TensorView& view, const Shape& shape);

}  // namespace reprise
