// Row-major C = alpha op(A) op(B) + beta C, the one matrix product under matmul, linear, losses and im2col.
//
// C is cut into tiles whose size depends on the shape alone, and each tile is made by one thread; so the bits do not
// depend on the number of threads. With beta 0, C need not be initialised.
#pragma once

#include <cstdint>

namespace reprise {

/// op(A) is [m, k], op(B) [k, n]; a transposed operand lies in memory as [k, m] or [n, k]. Leading dimensions in
/// elements. T: float, double.
template <class T>
struct GemmCall {
  bool transpose_a = false, transpose_b = false;
  std::int64_t m = 0, n = 0, k = 0;
  T alpha = 1;
  const T* a = nullptr;
  std::int64_t lda = 0;
  const T* b = nullptr;
  std::int64_t ldb = 0;
  T beta = 0;
  T* c = nullptr;
  std::int64_t ldc = 0;
};

/// Errors (device): the library refuses a tile of the product; others may have been written by then.
template <class T>
void gemm(const GemmCall<T>& call);

/// The same by the calling thread alone, by Eigen: for use inside a parallel loop.
template <class T>
void gemm_serial(const GemmCall<T>& call);

extern template void gemm<float>(const GemmCall<float>&);
extern template void gemm<double>(const GemmCall<double>&);
extern template void gemm_serial<float>(const GemmCall<float>&);
extern template void gemm_serial<double>(const GemmCall<double>&);

}  // namespace reprise
