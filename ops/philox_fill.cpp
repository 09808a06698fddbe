#include "ops/philox_fill.h"

#include <algorithm>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace reprise {

namespace {

constexpr std::uint32_t kM0 = 0xD2511F53u, kM1 = 0xCD9E8D57u, kW0 = 0x9E3779B9u, kW1 = 0xBB67AE85u;
constexpr int kRounds = 10;

#if defined(__AVX2__)

// Note on lanes. A counter word stands in the low half of a 64-bit lane, because the multiplication reads low halves and
// gives 64 bits: so the low half of a product needs no masking, the high half one shift, and what is left in the upper
// halves is never read. Several registers for each counter word hide the latency of the multiplication.
constexpr int kVectors = 4;
constexpr int kLanes = 8 * kVectors;

/// Four blocks a register; 4 * kVectors blocks.
void fill_with_avx2(const DrawRange& draw, std::uint64_t block, std::uint32_t* out) {
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
    auto* to = reinterpret_cast<__m256i*>(out + 16 * v);
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(even, odd, 0x31));
  }
}

/// Eight blocks a register; 8 * kVectors blocks.
__attribute__((target("avx512f"))) void fill_with_avx512(const DrawRange& draw, std::uint64_t block, std::uint32_t* out) {
  __m512i c0[kVectors], c1[kVectors], c2[kVectors], c3[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    c0[v] = _mm512_add_epi64(_mm512_set1_epi64(static_cast<long long>(block) + 8 * v), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
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
    _mm512_storeu_si512(out + 32 * v, _mm512_permutex2var_epi64(low, first, high));
    _mm512_storeu_si512(out + 32 * v + 16, _mm512_permutex2var_epi64(low, second, high));
  }
}

/// kLanes consecutive counter blocks from `block` on, as 4 * kLanes words in order of position: the same words by
/// either set of instructions.
void fill_blocks(const DrawRange& draw, std::uint64_t block, std::uint32_t* out) {
  static const bool wide = __builtin_cpu_supports("avx512f");
  if (wide) {
    fill_with_avx512(draw, block, out);
    return;
  }
  fill_with_avx2(draw, block, out);
  fill_with_avx2(draw, block + 4 * kVectors, out + 16 * kVectors);
}

#else

// So many that compilers keep the loops over lanes, and so turn them into vector code; 16 would be unrolled first.
constexpr int kLanes = 32;

/// kLanes consecutive counter blocks from `block` on, as 4 * kLanes words in order of position. The arithmetic is that
/// of philox4x32 with one array per counter word.
void fill_blocks(const DrawRange& draw, std::uint64_t block, std::uint32_t* out) {
  std::uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    std::uint64_t counter = block + static_cast<std::uint64_t>(l);
    c0[l] = static_cast<std::uint32_t>(counter);
    c1[l] = static_cast<std::uint32_t>(counter >> 32);
    c2[l] = static_cast<std::uint32_t>(draw.id);
    c3[l] = static_cast<std::uint32_t>(draw.id >> 32);
  }
  auto k0 = static_cast<std::uint32_t>(draw.seed), k1 = static_cast<std::uint32_t>(draw.seed >> 32);
  for (int round = 0; round < kRounds; ++round) {
    for (int l = 0; l < kLanes; ++l) {
      std::uint64_t p0 = std::uint64_t{kM0} * c0[l];
      std::uint64_t p1 = std::uint64_t{kM1} * c2[l];
      c0[l] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[l] ^ k0;
      c1[l] = static_cast<std::uint32_t>(p1);
      c2[l] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[l] ^ k1;
      c3[l] = static_cast<std::uint32_t>(p0);
    }
    k0 += kW0;
    k1 += kW1;
  }
  for (int l = 0; l < kLanes; ++l) {
    out[4 * l] = c0[l];
    out[4 * l + 1] = c1[l];
    out[4 * l + 2] = c2[l];
    out[4 * l + 3] = c3[l];
  }
}

#endif

}  // namespace

void fill_words(const DrawRange& draw, std::uint64_t first, std::int64_t count, std::uint32_t* words) {
  std::uint64_t position = draw.position + first;
  std::int64_t done = 0;
  while (done < count) {
    std::uint64_t at = position + static_cast<std::uint64_t>(done);
    auto skip = static_cast<std::int64_t>(at % 4);
    std::int64_t left = count - done;
    if (skip == 0 && left >= 4 * kLanes) {
      fill_blocks(draw, at / 4, words + done);
      done += 4 * kLanes;
      continue;
    }
    PhiloxWords block = philox_block(draw.seed, draw.id, at / 4);
    std::int64_t usable = std::min(left, 4 - skip);
    std::copy_n(block.w + skip, usable, words + done);
    done += usable;
  }
}

}  // namespace reprise
