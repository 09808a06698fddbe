#include "ops/philox_fill.h"

#include <algorithm>

#include "core/philox.h"
#include "ops/philox_vectors.h"

namespace reprise {

namespace {

#if defined(__AVX2__)

constexpr int kLanes = philox::kWordsAvx512 / 4;

struct StoreAvx2 {
  std::uint32_t* out;
  __attribute__((always_inline)) void take(int at, __m256i a, __m256i b) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + at), a);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + at + 8), b);
  }
};

void fill_with_avx2(const DrawRange& draw, std::uint64_t block, std::uint32_t* out) {
  philox::rounds_avx2(draw, block, StoreAvx2{out});
}

struct StoreAvx512 {
  std::uint32_t* out;
  REPRISE_AVX512 __attribute__((always_inline)) void take(int at, __m512i a, __m512i b) const {
    _mm512_storeu_si512(out + at, a);
    _mm512_storeu_si512(out + at + 16, b);
  }
};

REPRISE_AVX512 void fill_with_avx512(const DrawRange& draw, std::uint64_t block, std::uint32_t* out) {
  philox::rounds_avx512(draw, block, StoreAvx512{out});
}

/// kLanes consecutive counter blocks from `block` on, as 4 * kLanes words in order of position: the same words by
/// either set of instructions.
void fill_blocks(const DrawRange& draw, std::uint64_t block, std::uint32_t* out) {
  if (has_avx512()) {
    fill_with_avx512(draw, block, out);
    return;
  }
  fill_with_avx2(draw, block, out);
  fill_with_avx2(draw, block + philox::kWordsAvx2 / 4, out + philox::kWordsAvx2);
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
  for (int round = 0; round < philox::kRounds; ++round) {
    for (int l = 0; l < kLanes; ++l) {
      std::uint64_t p0 = std::uint64_t{philox::kM0} * c0[l];
      std::uint64_t p1 = std::uint64_t{philox::kM1} * c2[l];
      c0[l] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[l] ^ k0;
      c1[l] = static_cast<std::uint32_t>(p1);
      c2[l] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[l] ^ k1;
      c3[l] = static_cast<std::uint32_t>(p0);
    }
    k0 += philox::kW0;
    k1 += philox::kW1;
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
