// Sums over the rows of a [rows, columns] matrix, column by column, in double over fixed blocks of rows: the gradient
// of a bias and the parameter gradients of normalisations. The same bits for any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/parallel.h"

namespace reprise {

/// The partition of rows into blocks; each block has its own partial sums in the workspace.
struct RowBlocks {
  static constexpr std::int64_t kMaxBlocks = 64;  // bounds the workspace, and the doubles that are added at the end
  static constexpr std::int64_t kLeastRows = 64;  // of a block: fewer are not worth sums of their own
  std::int64_t rows_per_block, count;

  explicit RowBlocks(std::int64_t rows)
      : rows_per_block(std::max(kLeastRows, (rows + kMaxBlocks - 1) / kMaxBlocks)),
        count((rows + rows_per_block - 1) / rows_per_block) {}

  /// Bytes for `sums` rows of `columns` doubles per block.
  std::int64_t workspace(std::int64_t sums, std::int64_t columns) const {
    return count * sums * columns * static_cast<std::int64_t>(sizeof(double));
  }
};

/// target[c] (+)= the sum of partial[b][c] over the blocks, in order. `stride` is the distance between blocks, in
/// doubles.
template <class T>
void combine_blocks(const RowBlocks& blocks, const double* partial, std::int64_t stride, std::int64_t columns,
                    T* target, bool accumulate) {
  for (std::int64_t c = 0; c < columns; ++c) {
    double sum = 0;
    for (std::int64_t b = 0; b < blocks.count; ++b) sum += partial[b * stride + c];
    target[c] = static_cast<T>(accumulate ? static_cast<double>(target[c]) + sum : sum);
  }
}

/// Bytes that column_sums() needs.
inline std::int64_t column_sums_workspace(std::int64_t rows, std::int64_t columns) {
  return RowBlocks(rows).workspace(1, columns);
}

/// target[c] (+)= the sum over r of x[r][c]; x [rows, columns] contiguous, T f32 or f64.
template <class T>
void column_sums(const T* x, std::int64_t rows, std::int64_t columns, T* target, bool accumulate,
                 std::byte* workspace) {
  RowBlocks blocks(rows);
  auto* partial = reinterpret_cast<double*>(workspace);
  parallel_blocks(rows, blocks.rows_per_block, [&](std::int64_t begin, std::int64_t end) {
    double* sums = partial + begin / blocks.rows_per_block * columns;
    std::fill(sums, sums + columns, 0.0);
    for (std::int64_t r = begin; r < end; ++r) {
      const T* row = x + r * columns;
      for (std::int64_t c = 0; c < columns; ++c) sums[c] += static_cast<double>(row[c]);
    }
  });
  combine_blocks(blocks, partial, columns, columns, target, accumulate);
}

}  // namespace reprise
