// BackedAllocator: meters as the allocator behind it, and gives bytes where that one gives none. For the few tensors
// whose values a dry trace must know, such as fixed lists of rows: they follow from the configuration, and which bytes
// a step reads and writes follows from them. Reached by Memory::backed_allocator().
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/allocator.h"
#include "core/error.h"

namespace reprise {

class BackedAllocator final : public Allocator {
 public:
  explicit BackedAllocator(Allocator& inner) : inner_(inner) {}

  Device device() const override { return inner_.device(); }
  Allocation allocate(std::int64_t bytes, Category category) override {
    Allocation allocation = inner_.allocate(bytes, category);
    if (allocation.data || allocation.charged == 0) return allocation;
    allocation.data = static_cast<std::byte*>(std::aligned_alloc(64, static_cast<std::size_t>(allocation.charged)));
    if (allocation.data) return allocation;
    inner_.release(allocation, category);
    fail(ErrorKind::memory, "[memory] expected {} bytes from the machine, got none", allocation.charged);
  }
  void release(const Allocation& allocation, Category category) noexcept override {
    std::free(allocation.data);
    inner_.release({nullptr, allocation.charged, allocation.serial}, category);
  }

 private:
  Allocator& inner_;
};

}  // namespace reprise
