// The elementwise functors as CUDA loops over contiguous device memory. Every functor of ops/elementwise_functors.h and
// the Philox draw are instantiated in ops/elementwise.cu, so that their bodies stay device code. Included by .cu files.
#pragma once

#include "core/parallel.cuh"
#include "core/philox.h"
#include "ops/elementwise_functors.h"

namespace reprise::cuda {

/// out[i] = f(in[i]...); the pointers are device memory of one element type.
template <class F, class T, class... In>
struct MapBody {
  F f;
  T* out;
  const T* in[sizeof...(In) + 1];
  REPRISE_HOST_DEVICE void operator()(std::int64_t i) const {
    if constexpr (sizeof...(In) == 0) {
      out[i] = f(in[0][i]);
    } else if constexpr (sizeof...(In) == 1) {
      out[i] = f(in[0][i], in[1][i]);
    } else {
      out[i] = f(in[0][i], in[1][i], in[2][i]);
    }
  }
};

/// Queues out = f(first, rest...) over `n` elements on a stream of the current device.
template <class F, class T, class... Rest>
void map(const F& f, std::int64_t n, T* out, const T* first, const Rest*... rest) {
  launch_for(n, MapBody<F, T, Rest...>{f, out, {first, rest...}});
}

/// out[i] = the uniform number at position + i of stream (seed, id).
struct UniformBody {
  float* out;
  std::uint64_t seed, id, position;
  REPRISE_HOST_DEVICE void operator()(std::int64_t i) const {
    out[i] = uniform_from_word(philox_word(seed, id, position + static_cast<std::uint64_t>(i)));
  }
};

}  // namespace reprise::cuda
