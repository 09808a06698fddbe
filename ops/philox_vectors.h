// Philox4x32-10 in vector registers: many counter blocks at once, their words handed in order of position to a sink
// while they are still in registers. Called by philox_fill.cpp and dropout_loop.cpp. The words are those of
// core/philox.h, by either set of instructions; x86 with AVX2 only.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>

#include <cstdint>

#include "core/philox.h"
#include "core/stream.h"
#include "ops/avx512.h"

namespace reprise::philox {

// Note on lanes. A counter word stands in the low half of a 64-bit lane, because the multiplication reads low halves
// and gives 64 bits: so the low half of a product needs no masking, the high half one shift, and what is left in the
// upper halves is never read. Several registers for each counter word hide the latency of the multiplication.
constexpr int kVectors = 4;
/// Words that one call hands over.
constexpr int kWordsAvx2 = 16 * kVectors, kWordsAvx512 = 32 * kVectors;

/// The blocks from `block` on: calls sink.take(at, a, b) with words [at, at + 8) and [at + 8, at + 16), for each `at`.
template <class Sink>
__attribute__((always_inline)) inline void rounds_avx2(const DrawRange& draw, std::uint64_t block, const Sink& sink) {
  __m256i c0[kVectors], c1[kVectors], c2[kVectors], c3[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    c0[v] = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<long long>(block) + 4 * v), _mm256_setr_epi64x(0, 1, 2, 3));
    c1[v] = _mm256_srli_epi64(c0[v], 32);
    c2[v] = _mm256_set1_epi64x(static_cast<std::uint32_t>(draw.id));
    c3[v] = _mm256_set1_epi64x(static_cast<std::uint32_t>(draw.id >> 32));
  }
  auto k0 = static_cast<std::uint32_t>(draw.seed), k1 = static_cast<std::uint32_t>(draw.seed >> 32);
  __m256i m0 = _mm256_set1_epi64x(kM0), m1 = _mm256_set1_epi64x(kM1);
  for (int round = 0; round < kRounds; ++round, k0 += kW0, k1 += kW1) {
    __m256i key0 = _mm256_set1_epi64x(k0), key1 = _mm256_set1_epi64x(k1);
    for (int v = 0; v < kVectors; ++v) {
      __m256i p0 = _mm256_mul_epu32(c0[v], m0), p1 = _mm256_mul_epu32(c2[v], m1);
      c0[v] = _mm256_xor_si256(_mm256_srli_epi64(p1, 32), _mm256_xor_si256(c1[v], key0));
      c1[v] = p1;
      c2[v] = _mm256_xor_si256(_mm256_srli_epi64(p0, 32), _mm256_xor_si256(c3[v], key1));
      c3[v] = p0;
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    // Words 0 and 1 of each block in one register, 2 and 3 in the other; then in order.
    __m256i low = _mm256_blend_epi32(c0[v], _mm256_slli_epi64(c1[v], 32), 0xAA);
    __m256i high = _mm256_blend_epi32(c2[v], _mm256_slli_epi64(c3[v], 32), 0xAA);
    __m256i even = _mm256_unpacklo_epi64(low, high), odd = _mm256_unpackhi_epi64(low, high);
    sink.take(16 * v, _mm256_permute2x128_si256(even, odd, 0x20), _mm256_permute2x128_si256(even, odd, 0x31));
  }
}

/// The same with words [at, at + 16) and [at + 16, at + 32).
template <class Sink>
REPRISE_AVX512 __attribute__((always_inline)) inline void rounds_avx512(const DrawRange& draw, std::uint64_t block,
                                                                        const Sink& sink) {
  __m512i c0[kVectors], c1[kVectors], c2[kVectors], c3[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    c0[v] = _mm512_add_epi64(_mm512_set1_epi64(static_cast<long long>(block) + 8 * v),
                             _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
    c1[v] = _mm512_srli_epi64(c0[v], 32);
    c2[v] = _mm512_set1_epi64(static_cast<std::uint32_t>(draw.id));
    c3[v] = _mm512_set1_epi64(static_cast<std::uint32_t>(draw.id >> 32));
  }
  auto k0 = static_cast<std::uint32_t>(draw.seed), k1 = static_cast<std::uint32_t>(draw.seed >> 32);
  __m512i m0 = _mm512_set1_epi64(kM0), m1 = _mm512_set1_epi64(kM1);
  for (int round = 0; round < kRounds; ++round, k0 += kW0, k1 += kW1) {
    __m512i key0 = _mm512_set1_epi64(k0), key1 = _mm512_set1_epi64(k1);
    for (int v = 0; v < kVectors; ++v) {
      __m512i p0 = _mm512_mul_epu32(c0[v], m0), p1 = _mm512_mul_epu32(c2[v], m1);
      c0[v] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p1, 32), c1[v], key0, 0x96);  // exclusive or of three
      c1[v] = p1;
      c2[v] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p0, 32), c3[v], key1, 0x96);
      c3[v] = p0;
    }
  }
  __m512i first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), second = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
  for (int v = 0; v < kVectors; ++v) {
    __m512i low = _mm512_mask_blend_epi32(0xAAAA, c0[v], _mm512_slli_epi64(c1[v], 32));
    __m512i high = _mm512_mask_blend_epi32(0xAAAA, c2[v], _mm512_slli_epi64(c3[v], 32));
    sink.take(32 * v, _mm512_permutex2var_epi64(low, first, high), _mm512_permutex2var_epi64(low, second, high));
  }
}

}  // namespace reprise::philox

#endif  // __AVX2__
