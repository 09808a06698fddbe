#include "autograd/array.h"

#include <cstring>

#include "core/parallel.h"
#include "memory/row_list.h"

namespace reprise {

namespace {

constexpr std::int64_t kSumGrain = 1 << 15;  // elements for one thread at a time

void copy_rows(const TensorView& from, const TensorView& to, int axis, const std::byte* source, std::byte* target) {
  std::int64_t item = size_of(from.dtype);
  if (axis == from.shape.size()) {
    std::memcpy(target, source, static_cast<std::size_t>(item));
    return;
  }
  std::int64_t source_step = from.strides[axis] * item, target_step = to.strides[axis] * item;
  bool last = axis + 1 == from.shape.size();
  if (last && source_step == item && target_step == item) {
    std::memcpy(target, source, static_cast<std::size_t>(from.shape[axis] * item));
    return;
  }
  for (std::int64_t i = 0; i < from.shape[axis]; ++i) {
    copy_rows(from, to, axis + 1, source + i * source_step, target + i * target_step);
  }
}

// Values that are stored as bf16 have gradients of that type, and one that is read twice has a sum of them.
void add_bf16(const BFloat16* source, BFloat16* target, std::int64_t n) {
  parallel_blocks(n, kSumGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      target[i] = BFloat16(static_cast<float>(target[i]) + static_cast<float>(source[i]));
    }
  });
}

}  // namespace

void copy_strided(const TensorView& from, const TensorView& to) {
  if (from.size() == 0 || !from.data || !to.data) return;
  if (from.contiguous() && to.contiguous()) {
    copy_span(from.data, to.data, from.bytes());
    return;
  }
  copy_rows(from, to, 0, from.data, to.data);
}

void add_into(const TensorView& from, const TensorView& to) {
  if (!to.data) return;
  if (to.dtype == DType::bf16) return add_bf16(from.as<BFloat16>(), to.as<BFloat16>(), to.size());
  dispatch_float(to.dtype, [&]<class T>() {
    const T* source = from.as<T>();
    T* target = to.as<T>();
    parallel_blocks(to.size(), kSumGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) target[i] += source[i];
    });
  });
}

void fill(const TensorView& to, double value) {
  if (!to.data) return;
  dispatch_any(to.dtype, [&]<class T>() {
    T number;
    if constexpr (std::is_same_v<T, BFloat16>)
      number = BFloat16(static_cast<float>(value));
    else
      number = static_cast<T>(value);
    for (std::int64_t i = 0, n = to.size(); i < n; ++i) to.as<T>()[i] = number;
  });
}

}  // namespace reprise
