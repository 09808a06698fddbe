#include "core/tensor.h"

#include <cstring>

namespace reprise {

Region Tensor::region() const {
  std::int64_t item = size_of(dtype_);
  if (contiguous()) return Region::span(offset_ * item, offset_ * item + bytes());
  return Region::block(offset_, shape_, strides_, item);
}

Run Tensor::bounds() const {
  Run elements{offset_, offset_ + 1};
  for (int axis = 0; axis < shape_.size(); ++axis) {
    std::int64_t reach = (shape_[axis] - 1) * strides_[axis];
    (reach < 0 ? elements.lo : elements.hi) += reach;
  }
  if (size() == 0) elements = {offset_, offset_};
  return {elements.lo * size_of(dtype_), elements.hi * size_of(dtype_)};
}

void Tensor::require_host(DType dtype, const char* what) const {
  require_contiguous(what);
  if (dtype != dtype_)
    fail(ErrorKind::user, "[{}] expected dtype {}, got {}", what, to_string(dtype_), to_string(dtype));
}

void Tensor::require_defined(const char* what) const {
  if (!defined()) fail(ErrorKind::user, "[{}] expected a tensor, got none", what);
}

void Tensor::require_contiguous(const char* what) const {
  require_defined(what);
  if (!contiguous())
    fail(ErrorKind::user, "[{}] expected a contiguous tensor, got strides {}", what, to_string(strides_));
}

std::span<const std::byte> Tensor::host_read_bytes() const {
  require_contiguous("host_read");
  const std::byte* base = storage_->host_read();
  if (!base) return {};
  return {base + offset_ * size_of(dtype_), static_cast<std::size_t>(bytes())};
}

std::span<std::byte> Tensor::host_write_bytes(const char* who) const {
  require_contiguous("host_write");
  std::byte* base = storage_->host_write(region(), who);
  if (!base) return {};
  return {base + offset_ * size_of(dtype_), static_cast<std::size_t>(bytes())};
}

double load_as_double(const TensorView& view, std::int64_t i) {
  return dispatch_any(view.dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, BFloat16>)
      return static_cast<double>(static_cast<float>(view.as<T>()[i]));
    else
      return static_cast<double>(view.as<T>()[i]);
  });
}

void store_as_double(const TensorView& view, std::int64_t i, double value) {
  dispatch_any(view.dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, BFloat16>)
      view.as<T>()[i] = BFloat16(static_cast<float>(value));
    else
      view.as<T>()[i] = static_cast<T>(value);
  });
}

namespace {
template <class F>
void for_each_offset(const Shape& shape, const Strides& strides, F&& f) {
  std::int64_t n = element_count(shape);
  std::array<std::int64_t, kMaxRank> index{};
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    f(i, offset);
    for (int axis = shape.size() - 1; axis >= 0; --axis) {
      offset += strides[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}
}  // namespace

std::vector<double> Tensor::to_doubles() const {
  require_defined("to_doubles");
  storage_->host_read();
  TensorView v = view();
  if (!v.data && size() > 0)
    fail(ErrorKind::user, "[to_doubles] expected bytes, got a tensor of a dry trace, which has none");
  std::vector<double> out(static_cast<std::size_t>(size()));
  for_each_offset(shape_, strides_, [&](std::int64_t i, std::int64_t at) { out[i] = load_as_double(v, at); });
  return out;
}

void Tensor::assign_doubles(std::span<const double> values, const char* who) const {
  require_defined(who);
  if (static_cast<std::int64_t>(values.size()) != size()) {
    fail(ErrorKind::user, "[{}] expected {} elements for shape {}, got {}", who, size(), to_string(shape_),
         values.size());
  }
  storage_->host_write(region(), who);
  TensorView v = view();
  if (!v.data) return;  // a dry trace
  for_each_offset(shape_, strides_, [&](std::int64_t i, std::int64_t at) { store_as_double(v, at, values[i]); });
}

Tensor make_tensor(Allocator& allocator, WriteObserver* observer, DType dtype, const Shape& shape, Category category,
                   bool zero) {
  std::int64_t bytes = element_count(shape) * size_of(dtype);
  Tensor tensor(Storage::create(allocator, observer, bytes, category), dtype, shape);
  if (zero && bytes > 0 && tensor.storage().raw())
    std::memset(tensor.storage().raw(), 0, static_cast<std::size_t>(bytes));
  return tensor;
}

}  // namespace reprise
