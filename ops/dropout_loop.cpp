#include "ops/dropout_loop.h"

#include <algorithm>

#include "core/philox.h"
#include "ops/philox_vectors.h"

namespace reprise {

namespace {

struct Dropping {
  const DrawRange& draw;
  std::uint32_t threshold;
  float scale;

  float apply(std::uint32_t word, float x) const { return (word >> 8) >= threshold ? x * scale : 0.0f; }

  /// Elements of one counter block, from word `skip` of it on.
  void part_of_block(std::uint64_t position, std::int64_t count, const float* x, float* y) const {
    PhiloxWords block = philox_block(draw.seed, draw.id, position / 4);
    for (std::int64_t i = 0; i < count; ++i) y[i] = apply(block.w[position % 4 + static_cast<std::uint64_t>(i)], x[i]);
  }
};

#if defined(__AVX2__)

// Note: what bounds it. Ten rounds cost about one cycle a word, more than reading and writing the element does, so the
// words are kept out of memory, nothing branches on them, and stores that pass the caches by would gain nothing.

struct SinkAvx2 {
  const float* x;
  float* y;
  __m256i below;  // threshold - 1
  __m256 scale;
  __attribute__((always_inline)) __m256 apply(__m256i words, const float* from) const {
    __m256i kept = _mm256_cmpgt_epi32(_mm256_srli_epi32(words, 8), below);
    return _mm256_and_ps(_mm256_castsi256_ps(kept), _mm256_mul_ps(_mm256_loadu_ps(from), scale));
  }
  __attribute__((always_inline)) void take(int at, __m256i a, __m256i b) const {
    __m256 low = apply(a, x + at), high = apply(b, x + at + 8);
    _mm256_storeu_ps(y + at, low);
    _mm256_storeu_ps(y + at + 8, high);
  }
};

void run_avx2(const Dropping& d, std::uint64_t block, std::int64_t chunks, const float* x, float* y) {
  SinkAvx2 sink{x, y, _mm256_set1_epi32(static_cast<int>(d.threshold) - 1), _mm256_set1_ps(d.scale)};
  for (; chunks-- > 0; block += philox::kWordsAvx2 / 4, sink.x += philox::kWordsAvx2, sink.y += philox::kWordsAvx2) {
    philox::rounds_avx2(d.draw, block, sink);
  }
}

struct SinkAvx512 {
  const float* x;
  float* y;
  __m512i threshold;
  __m512 scale;
  REPRISE_AVX512 __attribute__((always_inline)) __m512 apply(__m512i words, const float* from) const {
    __mmask16 kept = _mm512_cmpge_epu32_mask(_mm512_srli_epi32(words, 8), threshold);
    return _mm512_maskz_mul_ps(kept, _mm512_loadu_ps(from), scale);
  }
  REPRISE_AVX512 __attribute__((always_inline)) void take(int at, __m512i a, __m512i b) const {
    __m512 low = apply(a, x + at), high = apply(b, x + at + 16);
    _mm512_storeu_ps(y + at, low);
    _mm512_storeu_ps(y + at + 16, high);
  }
};

REPRISE_AVX512 void run_avx512(const Dropping& d, std::uint64_t block, std::int64_t chunks, const float* x, float* y) {
  SinkAvx512 sink{x, y, _mm512_set1_epi32(static_cast<int>(d.threshold)), _mm512_set1_ps(d.scale)};
  for (; chunks-- > 0;
       block += philox::kWordsAvx512 / 4, sink.x += philox::kWordsAvx512, sink.y += philox::kWordsAvx512) {
    philox::rounds_avx512(d.draw, block, sink);
  }
}

/// Whole chunks from the start of a counter block on; returns how many elements that were.
std::int64_t run_chunks(const Dropping& d, std::uint64_t block, std::int64_t count, const float* x, float* y) {
  bool wide = has_avx512();
  std::int64_t words = wide ? philox::kWordsAvx512 : philox::kWordsAvx2, chunks = count / words;
  if (wide)
    run_avx512(d, block, chunks, x, y);
  else
    run_avx2(d, block, chunks, x, y);
  return chunks * words;
}

#else

std::int64_t run_chunks(const Dropping& d, std::uint64_t block, std::int64_t count, const float* x, float* y) {
  std::int64_t done = 0;
  for (; count - done >= 4; done += 4)
    d.part_of_block(4 * block + static_cast<std::uint64_t>(done), 4, x + done, y + done);
  return done;
}

#endif

}  // namespace

void drop_floats(const DrawRange& draw, std::uint64_t first, std::int64_t count, std::uint32_t threshold, float scale,
                 const float* x, float* y) {
  Dropping d{draw, threshold, scale};
  std::uint64_t position = draw.position + first;
  std::int64_t done = std::min(count, static_cast<std::int64_t>((4 - position % 4) % 4));
  if (done > 0) d.part_of_block(position, done, x, y);
  done += run_chunks(d, (position + static_cast<std::uint64_t>(done)) / 4, count - done, x + done, y + done);
  while (done < count) {
    std::int64_t n = std::min<std::int64_t>(4, count - done);
    d.part_of_block(position + static_cast<std::uint64_t>(done), n, x + done, y + done);
    done += n;
  }
}

}  // namespace reprise
