// AVX-512 in files that are compiled for AVX2: how a function is marked that uses it, and whether this processor has
// it. Called by the hand-written kernels in registers: random words, dropout, Winograd.
#pragma once

#if defined(__AVX2__)
#define REPRISE_AVX512 __attribute__((target("avx512f")))

namespace reprise {

inline bool has_avx512() {
  static const bool has = __builtin_cpu_supports("avx512f");
  return has;
}

}  // namespace reprise
#endif
