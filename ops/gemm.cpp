#include "ops/gemm.h"

#include <Eigen/Dense>
#include <algorithm>
#include <atomic>
#include <type_traits>

#include "core/parallel.h"
#include "ops/implementation.h"
#include "ops/onednn.h"

namespace reprise {
namespace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using ConstMap = Eigen::Map<const Matrix<T>, Eigen::Unaligned, Eigen::OuterStride<>>;
template <class T>
using MutableMap = Eigen::Map<Matrix<T>, Eigen::Unaligned, Eigen::OuterStride<>>;

template <class T>
void clear_or_scale(const GemmCall<T>& call) {
  if (call.beta == T(1)) return;
  for (std::int64_t i = 0; i < call.m; ++i) {
    T* row = call.c + i * call.ldc;
    if (call.beta == T(0))
      std::fill(row, row + call.n, T(0));
    else
      for (std::int64_t j = 0; j < call.n; ++j) row[j] *= call.beta;
  }
}

// The part of the product that makes rows [i, i + m) and columns [j, j + n) of C.
template <class T>
GemmCall<T> tile(const GemmCall<T>& call, std::int64_t i, std::int64_t m, std::int64_t j, std::int64_t n) {
  GemmCall<T> part = call;
  part.m = m, part.n = n;
  part.a += call.transpose_a ? i : i * call.lda;
  part.b += call.transpose_b ? j * call.ldb : j;
  part.c += i * call.ldc + j;
  return part;
}

// 0, or what the library says of a product that failed.
template <class T>
int run_tile(const GemmCall<T>& call, GemmImplementation implementation) {
  if constexpr (std::is_same_v<T, float>) {
    if (implementation == GemmImplementation::onednn) {
      return onednn::sgemm(call.transpose_a, call.transpose_b, call.m, call.n, call.k, call.alpha, call.a, call.lda,
                           call.b, call.ldb, call.beta, call.c, call.ldc);
    }
  }
  gemm_serial(call);
  return 0;
}

// Note: tiles. Wide enough that packing the operands anew for each tile costs little, and at least two of them wherever
// C has two elements: the library then runs inside a parallel loop and so on one thread, whose order of sums is fixed.
struct Tiling {
  std::int64_t rows, columns, row_tiles, column_tiles;

  Tiling(std::int64_t m, std::int64_t n) {
    rows = std::min<std::int64_t>(m, 256), columns = std::min<std::int64_t>(n, 1024);
    if (m <= rows && n <= columns) {
      if (m >= n && m > 1)
        rows = (m + 1) / 2;
      else if (n > 1)
        columns = (n + 1) / 2;
    }
    if (rows >= 32) rows = (rows + 15) / 16 * 16;
    if (columns >= 32) columns = (columns + 15) / 16 * 16;
    row_tiles = (m + rows - 1) / rows, column_tiles = (n + columns - 1) / columns;
  }
};

}  // namespace

template <class T>
void gemm_serial(const GemmCall<T>& call) {
  if (call.m <= 0 || call.n <= 0) return;
  clear_or_scale(call);
  if (call.k <= 0) return;
  using Stride = Eigen::OuterStride<>;
  MutableMap<T> c(call.c, call.m, call.n, Stride(call.ldc));
  ConstMap<T> a(call.a, call.transpose_a ? call.k : call.m, call.transpose_a ? call.m : call.k, Stride(call.lda));
  ConstMap<T> b(call.b, call.transpose_b ? call.n : call.k, call.transpose_b ? call.k : call.n, Stride(call.ldb));
  if (call.transpose_a && call.transpose_b)
    c.noalias() += call.alpha * (a.transpose() * b.transpose());
  else if (call.transpose_a)
    c.noalias() += call.alpha * (a.transpose() * b);
  else if (call.transpose_b)
    c.noalias() += call.alpha * (a * b.transpose());
  else
    c.noalias() += call.alpha * (a * b);
}

template <class T>
void gemm(const GemmCall<T>& call) {
  if (call.m <= 0 || call.n <= 0) return;
  GemmImplementation implementation = GemmImplementation::eigen;
  if constexpr (std::is_same_v<T, float>) {
    if (call.k > 0 && call.m * call.n > 1) implementation = choose_gemm(DType::f32);
  }
  Tiling tiling(call.m, call.n);
  std::atomic<int> failure{0};  // thrown after the join: a body that throws ends the process
  parallel_blocks(tiling.row_tiles * tiling.column_tiles, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      std::int64_t i = t / tiling.column_tiles * tiling.rows, j = t % tiling.column_tiles * tiling.columns;
      int status = run_tile(tile(call, i, std::min(tiling.rows, call.m - i), j, std::min(tiling.columns, call.n - j)),
                            implementation);
      if (status != 0) failure.store(status, std::memory_order_relaxed);
    }
  });
  if (int status = failure.load()) onednn::require_done(status);
}

template void gemm<float>(const GemmCall<float>&);
template void gemm<double>(const GemmCall<double>&);
template void gemm_serial<float>(const GemmCall<float>&);
template void gemm_serial<double>(const GemmCall<double>&);

}  // namespace reprise
