// Memory that goes round: an allocator for the lists that ops make and drop again (the runs of regions, rows of an
// index, records of the preserver), so that a warmed-up step takes none from the heap for them.
//
// Blocks that come back are kept by the thread that gave them, by size in powers of two, up to a bound; they end with
// it. They may be given back by another thread than took them. Sanitizers see every block come from the heap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace reprise {

/// At least `bytes`, aligned as by operator new. Errors: std::bad_alloc.
void* take_recycled(std::size_t bytes);
/// `bytes` as they were asked for.
void give_recycled(void* memory, std::size_t bytes) noexcept;

template <class T>
struct Recycled {
  static_assert(alignof(T) <= alignof(std::max_align_t));
  using value_type = T;
  Recycled() = default;
  template <class U>
  Recycled(const Recycled<U>&) {}  // NOLINT: allocators of other types convert
  T* allocate(std::size_t count) { return static_cast<T*>(take_recycled(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) noexcept { give_recycled(memory, count * sizeof(T)); }
  friend bool operator==(const Recycled&, const Recycled&) { return true; }
};

template <class T>
using RecycledVector = std::vector<T, Recycled<T>>;

/// Room in a vector for `more` elements, grown as appending does, so that these can be appended without failing.
/// Errors: std::bad_alloc.
template <class List>
void grow_room(List& list, std::size_t more) {
  if (list.capacity() - list.size() < more) list.reserve(std::max(list.size() + more, 2 * list.capacity()));
}

}  // namespace reprise
