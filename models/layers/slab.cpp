#include "models/layers/slab.h"

#include "core/error.h"

namespace reprise {

Slab::Slab(Allocator& from, std::int64_t bytes, Category category, const char* name)
    : from_(from), whole_(from.allocate(bytes, category)), category_(category), size_(round_up_64(bytes)) {
  from_.set_name(whole_, name);
}

Slab::~Slab() { from_.release(whole_, category_); }

Allocation Slab::allocate(std::int64_t bytes, Category category) {
  std::int64_t charged = round_up_64(bytes);
  REPRISE_INVARIANT(category == category_ && used_ + charged <= size_);
  std::byte* data = whole_.data ? whole_.data + used_ : nullptr;  // a dry run has no bytes
  used_ += charged;
  return {data, charged};
}

}  // namespace reprise
