// Counts what a thread takes from the heap, and refuses one request as a full heap would. Works in test programs of
// which one file includes full_heap_new.h. Sanitizers have a heap of their own: then kFullHeap is false, nothing is
// counted and nothing refused.
#pragma once

#include <cstdint>

namespace reprise::full_heap {

inline thread_local std::int64_t taken = 0;  // requests so far
inline thread_local std::int64_t left = -1;  // requests until one is refused, once; negative: none is

/// While alive, the n-th request of this thread from here (0: the next) is refused.
class Refusing {
 public:
  explicit Refusing(std::int64_t n) { left = n; }
  ~Refusing() { left = -1; }
  Refusing(const Refusing&) = delete;
  Refusing& operator=(const Refusing&) = delete;
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kFullHeap = false;
#else
inline constexpr bool kFullHeap = true;
#endif

}  // namespace reprise::full_heap
