// Matrix products. matmul: [m, k] x [k, n], or batches [b, m, k] x [b, k, n]; either operand may be used transposed.
// linear: x [..., in] times weight [out, in] transposed, plus bias [out]. f32 by oneDNN, else by Eigen; f64 by Eigen.
//
// Callers: layers, losses, user programs. The kernel (ops/gemm.h) gives the same bits for any number of threads.
#pragma once

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kMatmul;
extern const Op kLinear;

/// a [m, k] (transpose_a: [k, m]) times b [k, n] (transpose_b: [n, k]); both 2-D, or both 3-D with one batch size.
/// Errors (user): ranks, batch sizes or inner extents that differ.
Value matmul(Tape& tape, Arg a, Arg b, bool transpose_a = false, bool transpose_b = false);

/// y[..., o] = sum_i x[..., i] * weight[o, i] (+ bias[o]). Weight gradients are added straight into their accumulator.
/// Errors (user): shapes or dtypes that do not fit.
Value linear(Tape& tape, Arg x, Arg weight, Arg bias = {});

void register_matmul_ops();

}  // namespace reprise
