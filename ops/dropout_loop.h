// The loop of dropout: random words are drawn, compared and used while they are in registers. Called by the op in
// draws.cpp, forward and backward alike; the words are those of fill_words, so any way to run it gives the same bits.
#pragma once

#include <cstdint>

#include "core/stream.h"

namespace reprise {

/// y[i] = word(draw.position + first + i) >> 8 at least `threshold` (at most 2^24) ? x[i] * scale : 0, for i in
/// [0, count). y may be x.
void drop_floats(const DrawRange& draw, std::uint64_t first, std::int64_t count, std::uint32_t threshold, float scale,
                 const float* x, float* y);

}  // namespace reprise
