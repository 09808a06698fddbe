// Small inline integer lists: shapes and strides of tensors (counted in elements), never allocated on the heap.
// Used by every room that speaks of tensors; a list is a plain value of at most kMaxRank integers.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace reprise {

constexpr int kMaxRank = 6;

/// Up to kMaxRank integers by value. As a shape: extents, outermost axis first. Errors (user) beyond kMaxRank.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<std::int64_t> list) : Dims(std::span(list.begin(), list.size())) {}
  explicit Dims(std::span<const std::int64_t> list);

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t operator[](int i) const { return values_[i]; }
  std::int64_t& operator[](int i) { return values_[i]; }
  std::int64_t back() const { return values_[size_ - 1]; }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + size_; }
  void push_back(std::int64_t value);
  void erase(int axis);
  void insert(int axis, std::int64_t value);

  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.size_ != b.size_) return false;
    for (int i = 0; i < a.size_; ++i)
      if (a.values_[i] != b.values_[i]) return false;
    return true;
  }

 private:
  std::array<std::int64_t, kMaxRank> values_{};
  int size_ = 0;
};

using Shape = Dims;
using Strides = Dims;

/// More elements than any machine holds; sums of the bytes of thousands of such tensors still fit.
constexpr std::int64_t kMostElements = std::int64_t{1} << 48;
/// Errors (user), naming the shape.
[[noreturn]] void fail_too_many_elements(const Shape& shape);

/// Number of elements; 1 for a scalar shape. Errors (user): more than kMostElements.
inline std::int64_t element_count(const Shape& shape) {
  std::int64_t n = 1;
  bool over = false;
  for (std::int64_t d : shape) over |= __builtin_mul_overflow(n, d, &n);
  if (over || n > kMostElements) [[unlikely]]
    fail_too_many_elements(shape);
  return n;
}

/// Row-major strides, in elements.
Strides contiguous_strides(const Shape& shape);
bool is_contiguous(const Shape& shape, const Strides& strides);

/// The NumPy broadcast of two shapes; false when they do not fit.
bool broadcast_shapes(const Shape& a, const Shape& b, Shape* out);

/// Axis in [0, rank) from one in [-rank, rank). Errors (user) outside, naming `op`.
int normalize_axis(std::int64_t axis, int rank, const char* op);

/// "[2, 3, 4]".
std::string to_string(const Dims& dims);

}  // namespace reprise
