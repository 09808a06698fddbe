#include "core/shape.h"

#include <algorithm>

#include "core/error.h"

namespace reprise {

Dims::Dims(std::span<const std::int64_t> list) {
  for (std::int64_t v : list) push_back(v);
}

void Dims::push_back(std::int64_t value) { insert(size_, value); }

void Dims::insert(int axis, std::int64_t value) {
  if (size_ == kMaxRank) fail(ErrorKind::user, "[shape] expected at most {} axes, got more", kMaxRank);
  for (int i = size_; i > axis; --i) values_[i] = values_[i - 1];
  values_[axis] = value;
  ++size_;
}

void Dims::erase(int axis) {
  for (int i = axis; i + 1 < size_; ++i) values_[i] = values_[i + 1];
  values_[--size_] = 0;
}

void fail_too_many_elements(const Shape& shape) {
  fail(ErrorKind::user, "[shape] expected at most 2^48 elements, got the shape {}", to_string(shape));
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides = shape;
  std::int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

bool is_contiguous(const Shape& shape, const Strides& strides) {
  std::int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

bool broadcast_shapes(const Shape& a, const Shape& b, Shape* out) {
  int rank = std::max(a.size(), b.size());
  Shape result;
  for (int i = 0; i < rank; ++i) {
    int ia = i - (rank - a.size()), ib = i - (rank - b.size());
    std::int64_t da = ia >= 0 ? a[ia] : 1, db = ib >= 0 ? b[ib] : 1;
    if (da != db && da != 1 && db != 1) return false;
    result.push_back(da == 1 ? db : da);
  }
  *out = result;
  return true;
}

int normalize_axis(std::int64_t axis, int rank, const char* op) {
  if (axis < -rank || axis >= rank) {
    fail(ErrorKind::user, "[{}] expected an axis in [{}, {}), got {}", op, -rank, rank, axis);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (int i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

}  // namespace reprise
