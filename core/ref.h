// Intrusive reference counting without atomics. Storages, handles and leaves belong to the thread of their step
// (threads fan out inside an op only), so a count never needs a lock; copying a Ref costs one increment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace reprise {

class RefCounted {
 public:
  std::int32_t ref_count() const { return count_; }

 protected:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  ~RefCounted() = default;

 private:
  template <class T>
  friend class Ref;
  std::int32_t count_ = 0;
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}  // NOLINT: a null reference reads like a null pointer
  explicit Ref(T* pointer) : pointer_(pointer) { retain(); }
  Ref(const Ref& other) : pointer_(other.pointer_) { retain(); }
  Ref(Ref&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  Ref& operator=(const Ref& other) {
    Ref(other).swap(*this);
    return *this;
  }
  Ref& operator=(Ref&& other) noexcept {
    Ref(std::move(other)).swap(*this);
    return *this;
  }
  ~Ref() { reset(); }

  void reset() {
    if (T* p = std::exchange(pointer_, nullptr); p && --p->count_ == 0) T::destroy(p);
  }
  void swap(Ref& other) noexcept { std::swap(pointer_, other.pointer_); }
  T* get() const { return pointer_; }
  T* operator->() const { return pointer_; }
  T& operator*() const { return *pointer_; }
  explicit operator bool() const { return pointer_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.pointer_ == b.pointer_; }

 private:
  void retain() {
    if (pointer_) ++pointer_->count_;
  }
  T* pointer_ = nullptr;
};

}  // namespace reprise
