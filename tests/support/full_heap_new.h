// The operator new behind full_heap.h. It serves the whole test program: included in one file of it.
// A request that is refused ends as one that the heap cannot meet.
#pragma once

#include <cstdlib>
#include <new>

#include "tests/support/full_heap.h"

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
