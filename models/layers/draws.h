// What a model draws once from its seed besides its parameters: numbers to start from, and lists of rows that stay the
// same in every step. Called by models that take no images, in allocate().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/stream.h"
#include "core/tensor.h"
#include "memory/memory.h"

namespace reprise {

/// Normal numbers of deviation `scale` for a contiguous f32 tensor, by the word of each element's place in the stream.
void fill_normal(const Tensor& to, const Stream& stream, float scale = 1.0f);

/// `count` rows of [0, rows), each drawn by itself, so that they may repeat. With a `skew` above 1 low rows come more
/// often: row = floor(rows * u^skew).
std::vector<std::int64_t> draw_rows(const Stream& stream, std::int64_t count, std::int64_t rows, double skew = 1);

/// `count` different rows of [0, rows), in no order. Errors (internal): more than there are.
std::vector<std::int64_t> draw_distinct_rows(const Stream& stream, std::int64_t count, std::int64_t rows);

/// A list of rows (i64) as a constant tensor of category data. A dry trace knows its values too, and with them which
/// rows a step reads and writes.
Tensor make_index(Memory& memory, const std::string& name, const Shape& shape, const std::vector<std::int64_t>& rows);

}  // namespace reprise
