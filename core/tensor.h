// Tensor: a typed, strided view of a storage, by value. TensorView: the same for kernels, as a raw pointer.
//
// A Tensor keeps its storage alive. Kernels take TensorViews, because a replay may point them at preserved copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"
#include "core/storage.h"

namespace reprise {

struct TensorView {
  std::byte* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;
  Strides strides;  // in elements

  std::int64_t size() const { return element_count(shape); }
  std::int64_t bytes() const { return size() * size_of(dtype); }
  bool contiguous() const { return is_contiguous(shape, strides); }
  bool defined() const { return data != nullptr; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

class Tensor {
 public:
  Tensor() = default;
  Tensor(StorageRef storage, DType dtype, const Shape& shape)
      : Tensor(std::move(storage), dtype, shape, contiguous_strides(shape), 0) {}
  Tensor(StorageRef storage, DType dtype, const Shape& shape, const Strides& strides, std::int64_t offset)
      : storage_(std::move(storage)), dtype_(dtype), offset_(offset), shape_(shape), strides_(strides) {}

  bool defined() const { return static_cast<bool>(storage_); }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  std::int64_t offset() const { return offset_; }  // in elements from the start of the storage
  std::int64_t size() const { return element_count(shape_); }
  std::int64_t bytes() const { return size() * size_of(dtype_); }
  bool contiguous() const { return is_contiguous(shape_, strides_); }
  Storage& storage() const { return *storage_; }
  const StorageRef& storage_ref() const { return storage_; }

  /// The bytes of the storage that the view touches.
  Region region() const;
  /// The smallest span of bytes of the storage that holds them; empty where the view has no elements.
  Run bounds() const;
  /// For kernels: no door is passed. In a dry trace storages have no bytes and data is null.
  TensorView view() const {
    std::byte* base = storage_->raw();
    return {base ? base + offset_ * size_of(dtype_) : nullptr, dtype_, shape_, strides_};
  }
  /// Another view of the same storage.
  Tensor with_view(const Shape& shape, const Strides& strides, std::int64_t offset) const {
    return Tensor(storage_, dtype_, shape, strides, offset);
  }

  /// Lets go of the bytes; shape, strides and dtype stay known.
  void drop_storage() { storage_.reset(); }
  /// View without bytes, for shapes only.
  TensorView shape_view() const { return {nullptr, dtype_, shape_, strides_}; }

  /// Host doors for contiguous tensors of element type T; empty spans in a dry trace.
  /// Errors (user): another dtype, not contiguous.
  template <class T>
  std::span<const T> host_read() const {
    require_host(DTypeOf<T>::value, "host_read");
    const std::byte* base = storage_->host_read();
    if (!base) return {};
    return {reinterpret_cast<const T*>(base) + offset_, static_cast<std::size_t>(size())};
  }
  template <class T>
  std::span<T> host_write(const char* who = "host") const {
    require_host(DTypeOf<T>::value, "host_write");
    std::byte* base = storage_->host_write(region(), who);
    if (!base) return {};
    return {reinterpret_cast<T*>(base) + offset_, static_cast<std::size_t>(size())};
  }
  /// The same doors to the bytes of a contiguous tensor of any dtype, its own and no others of the storage.
  std::span<const std::byte> host_read_bytes() const;
  std::span<std::byte> host_write_bytes(const char* who = "host") const;
  /// All elements converted to double, row-major, whatever dtype and strides. Errors (user): there are none, or it is
  /// of a dry trace.
  std::vector<double> to_doubles() const;
  /// Writes all elements from doubles (converted), announced as `who`. Errors (user) when there are none or the count
  /// differs.
  void assign_doubles(std::span<const double> values, const char* who = "host") const;

 private:
  void require_host(DType dtype, const char* what) const;
  void require_defined(const char* what) const;
  void require_contiguous(const char* what) const;

  StorageRef storage_;
  DType dtype_ = DType::f32;
  std::int64_t offset_ = 0;
  Shape shape_;
  Strides strides_;
};

/// A new contiguous tensor in its own storage; bytes not initialised unless `zero`.
Tensor make_tensor(Allocator& allocator, WriteObserver* observer, DType dtype, const Shape& shape, Category category,
                   bool zero = false);

/// The value at element index `i` (counted from view.data) as double; stores the reverse, by static_cast.
double load_as_double(const TensorView& view, std::int64_t i);
void store_as_double(const TensorView& view, std::int64_t i, double value);

}  // namespace reprise
