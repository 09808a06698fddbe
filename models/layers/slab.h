// Slab: one allocation, carved into storages that lie one behind the other, so that fused loops run over them as one
// range.
//
// It takes its bytes from another allocator, which meters them once and for good; the storages carved from it cost
// nothing more. Each begins at a multiple of 64 bytes. A slab must outlive its storages; space is not reused.
#pragma once

#include <cstdint>

#include "core/allocator.h"

namespace reprise {

class Slab final : public Allocator {
 public:
  /// Room for `bytes` (the sum of what will be asked for, each rounded up to 64). Errors (memory) as `from`.
  Slab(Allocator& from, std::int64_t bytes, Category category, const char* name);
  ~Slab() override;
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  Device device() const override { return from_.device(); }
  /// Errors (internal): more than the slab has left, or another category.
  Allocation allocate(std::int64_t bytes, Category category) override;
  void release(const Allocation&, Category) noexcept override {}

 private:
  Allocator& from_;
  Allocation whole_;
  Category category_;
  std::int64_t size_ = 0, used_ = 0;
};

}  // namespace reprise
