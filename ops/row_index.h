// Lists of row indices as kernels need them: read from i64 or i32 of any strides, wrapped or checked, in order. All
// rows are known good before a kernel writes a byte.
#pragma once

#include <cstdint>
#include <span>

#include "autograd/op.h"

namespace reprise {

/// Bytes of workspace for a resolved list of `count` rows.
inline std::int64_t row_list_bytes(std::int64_t count) { return count * size_of(DType::i64); }

/// Fills rows[0 .. index.size()) with the rows that `index` names in row-major order. With `wrap` modulo `row_count`.
/// Errors (user): an index outside [0, row_count), with its position, by the name of `op`.
void resolve_rows(const Op& op, const TensorView& index, std::int64_t row_count, bool wrap, std::int64_t* rows);

/// Errors (user): a row that comes twice.
void require_distinct(const Op& op, std::span<const std::int64_t> rows);

/// The bytes of the named rows of operand `table`, whose rows may lie apart and be strided themselves. `index` is the
/// operand with the list; where its data is not known yet, the whole view. `distinct` refuses repetitions.
Region rows_region(const RegionContext& c, int table, int index, bool wrap, bool distinct);

/// The bytes of rows [begin, begin + count) of `table`, going round at its end.
Region ring_region(const Tensor& table, std::int64_t begin, std::int64_t count);

/// Row `row` of a view, without axis 0.
TensorView row_of(const TensorView& view, std::int64_t row);

/// A shape without its first axis.
Shape rest_of(const Shape& shape);
/// Errors (user): an index of shape `first` and rows of shape `rest` give more axes than a tensor has.
void require_joinable(const InferContext& c, const Shape& first, const Shape& rest);
/// `first` followed by `rest`.
Shape join(const Shape& first, const Shape& rest);

}  // namespace reprise
