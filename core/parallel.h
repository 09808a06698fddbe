// Threads: one pool, an explicit thread count, and a fixed partition of work.
//
// parallel_for splits [0, n) into blocks of `grain` items; which block holds which item depends on n and grain only, so
// reductions that combine per-block partial results in block order give the same bits for any number of threads.
// Bodies must not throw. Built on OpenMP, or on this project's own pool where OpenMP is off (thread sanitizer).
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/device_seam.h"

namespace reprise {

/// Sets the number of threads of the pool, at least 1. Errors (user) on less. Call from the main thread between steps.
void set_thread_count(int count);
int thread_count();

namespace internal {
using RangeBody = void (*)(void* context, std::int64_t begin, std::int64_t end);
void run_blocks(std::int64_t n, std::int64_t grain, void* context, RangeBody body);
}  // namespace internal

/// Calls body(begin, end) once for each block [begin, end) of at most `grain` items of [0, n). Runs inline when there
/// is one block or one thread. Blocks are given to threads by a static rule; a nested call runs inline.
template <class Body>
void parallel_blocks(std::int64_t n, std::int64_t grain, Body&& body) {
  if (n <= 0) return;
  if (n <= grain) {
    body(std::int64_t{0}, n);
    return;
  }
  using B = std::remove_reference_t<Body>;
  internal::run_blocks(
      n, grain, const_cast<void*>(static_cast<const void*>(&body)),
      [](void* context, std::int64_t begin, std::int64_t end) { (*static_cast<B*>(context))(begin, end); });
}

/// Elements of light work, an operation or two each, in one block: some microseconds, several times what it takes to
/// hand a block to a thread.
constexpr std::int64_t kElementGrain = 16384;

/// The grain of a loop over rows of `width` such elements: as many rows as come to that, at least 1.
constexpr std::int64_t row_grain(std::int64_t width) {
  return std::max<std::int64_t>(1, kElementGrain / std::max<std::int64_t>(1, width));
}

/// The device seam's loop: functor(i) for each i in [0, n). The same functor body compiles for CUDA
/// (core/parallel.cuh).
template <class Functor>
void parallel_for(Device, std::int64_t n, const Functor& functor, std::int64_t grain = kElementGrain) {
  parallel_blocks(n, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) functor(i);
  });
}

}  // namespace reprise
