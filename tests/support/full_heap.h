// Counts what a thread takes from the heap, and refuses one request as a full heap would. The operator new defined here
// serves the whole test program: include it in one file of it. Sanitizers have their own: then kFullHeap is false,
// nothing is counted and nothing refused.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

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

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  using namespace reprise::full_heap;
  ++taken;
  bool refused = left >= 0 && left-- == 0;
  void* memory = refused ? nullptr : std::malloc(bytes ? bytes : 1);
  if (memory) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

#endif
