// Normalisation along the last axis: layer_norm (Ba, Kiros and Hinton, 2016) and l2_normalize.
//
// Rows are independent, so both give the same bits for any number of threads; layer_norm's parameter gradients are
// summed over fixed blocks of rows.
#pragma once

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kLayerNorm;
extern const Op kL2Normalize;

/// (x - mean) / sqrt(var + eps) * gamma + beta over the last axis, var biased. x [..., c]; gamma, beta [c]; f32 or f64.
/// Errors (user): shapes, dtypes.
Value layer_norm(Tape& tape, Arg x, Arg gamma, Arg beta, double eps = 1e-5);

/// x / max(|x|_2, eps) over the last axis. Errors (user): no axis, or an empty last one; dtype.
Value l2_normalize(Tape& tape, Arg x, double eps = 1e-12);

void register_normalize_ops();

}  // namespace reprise
