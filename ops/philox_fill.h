// Runs of random words, many counters at a time so that the rounds vectorise. Called by the draw ops; gives the same
// words as core/philox.h one by one.
#pragma once

#include <cstdint>

#include "core/stream.h"

namespace reprise {

/// words[i] = the word at position draw.position + first + i, for i in [0, count).
void fill_words(const DrawRange& draw, std::uint64_t first, std::int64_t count, std::uint32_t* words);

}  // namespace reprise
