// FaultAllocator: hands requests on and refuses one of them, for tests of what is left behind when memory runs out in
// the middle of a step. Switched on by Memory::fail_allocation().
#pragma once

#include <cstdint>

#include "core/allocator.h"
#include "core/error.h"

namespace reprise {

class FaultAllocator final : public Allocator {
 public:
  explicit FaultAllocator(Allocator& inner) : inner_(inner) {}

  /// The n-th request from now (0: the next) is refused, once; negative: none.
  void fail_at(std::int64_t n) { left_ = n; }

  Device device() const override { return inner_.device(); }
  Allocation allocate(std::int64_t bytes, Category category) override {
    if (left_ >= 0 && left_-- == 0) {
      fail(ErrorKind::memory, "[fault] this request of {} bytes ({}) was made to fail", bytes, to_string(category));
    }
    return inner_.allocate(bytes, category);
  }
  void release(const Allocation& allocation, Category category) noexcept override {
    inner_.release(allocation, category);
  }
  void set_name(const Allocation& allocation, const char* name) noexcept override { inner_.set_name(allocation, name); }

 private:
  Allocator& inner_;
  std::int64_t left_ = -1;
};

}  // namespace reprise
