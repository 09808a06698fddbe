// Batch normalisation over all axes but the last (Ioffe and Szegedy, 2015), alone, fused with relu, and fused with
// "add a residual, then relu". Statistics come from sums over fixed blocks: the same bits for any number of threads.
//
// Training normalises by the batch's biased variance and moves the running statistics once, in the forward:
// running = (1 - momentum) * running + momentum * batch (the variance unbiased). A replay never writes them.
#pragma once

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kBatchNorm;
extern const Op kBatchNormRelu;
extern const Op kBatchNormAddRelu;
extern const Op kBatchNormEval;
extern const Op kBatchNormEvalRelu;
extern const Op kBatchNormEvalAddRelu;

struct BatchNormOptions {
  bool training = true;   // false: normalise by the running statistics, which are then only read
  double momentum = 0.1;  // weight of the new batch
  double eps = 1e-5;
};

/// x [..., c]; gamma, beta, running_mean, running_var [c] of x's dtype, of any strides.
/// Errors (user): shapes; training on fewer than two values per channel.
Value batch_norm(Tape& tape, Arg x, Arg gamma, Arg beta, const Tensor& running_mean, const Tensor& running_var,
                 const BatchNormOptions& options = {});
/// relu(batch_norm(x)) in one pass over memory.
Value batch_norm_relu(Tape& tape, Arg x, Arg gamma, Arg beta, const Tensor& running_mean, const Tensor& running_var,
                      const BatchNormOptions& options = {});
/// relu(batch_norm(x) + residual) in one pass over memory; residual has x's shape.
Value batch_norm_add_relu(Tape& tape, Arg x, Arg residual, Arg gamma, Arg beta, const Tensor& running_mean,
                          const Tensor& running_var, const BatchNormOptions& options = {});

void register_batch_norm_ops();

}  // namespace reprise
