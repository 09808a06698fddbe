// Optimisers as fused loops over slabs: one pass over parameters, gradients and state per step. They are host code:
// each storage's write is announced before the first byte changes, then one parallel loop runs over all ranges.
//
// Neighbours that touch in memory are merged into one range. An element depends on itself (with LARS also on two
// lengths, summed in a fixed order), so the bits depend neither on the merging nor on the threads. f32 and f64;
// gradients and state have the parameter's dtype.
#pragma once

#include <cstdint>
#include <span>

#include "autograd/leaf.h"
#include "core/tensor.h"

namespace reprise {

/// One parameter with its optimiser state. Unused tensors stay undefined. A slot whose gradient is empty is skipped,
/// as PyTorch skips a parameter without gradient.
struct OptimiserSlot {
  LeafRef parameter;
  Tensor momentum;  // SGD, LARS: velocity; AdamW: first moment. Zero before the first step
  Tensor second;    // AdamW: second moment. Zero before the first step
  Tensor average;   // when defined: moved towards the new parameter in the same pass, by average_keep
  bool decay = true;
};

struct SgdOptions {
  double lr = 0.1;
  double momentum = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;
  double gradient_scale = 1.0;  // gradients are multiplied by this first (clipping, accumulation)
  double average_keep = 0.999;
};

/// PyTorch's SGD: g += decay * p; v = momentum * v + g; p -= lr * (nesterov ? g + momentum * v : v).
/// Errors (user): a slot without a parameter, or whose parameter is not contiguous f32 or f64; a gradient that is not
/// complete; a slot without the state that the options need, or of another shape or dtype; two tensors in the same
/// bytes where the step writes them, such as one parameter in two slots.
void sgd_step(std::span<const OptimiserSlot> slots, const SgdOptions& options);

struct AdamwOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
  std::int64_t step = 1;  // number of this step, from 1
  double gradient_scale = 1.0;
  double average_keep = 0.999;
};

/// AdamW (Loshchilov and Hutter, 2019), decoupled decay, as PyTorch computes it: p *= 1 - lr * decay;
/// m = beta1 * m + (1 - beta1) * g; s = beta2 * s + (1 - beta2) * g^2;
/// p -= lr * (m / (1 - beta1^step)) / (sqrt(s / (1 - beta2^step)) + eps). Errors as sgd_step; (user) a step below 1.
void adamw_step(std::span<const OptimiserSlot> slots, const AdamwOptions& options);

struct LarsOptions {
  double lr = 0.1;
  double momentum = 0.9;
  double weight_decay = 0.0;
  double trust = 1e-3;  // length of a parameter's step before lr, as a share of the parameter's own length
  double gradient_scale = 1.0;
  double average_keep = 0.999;
};

/// LARS (You, Gitman and Ginsburg, 2017) with the ratio taken of the whole update, as contrastive training uses it:
/// d = g + decay * p; d *= trust * |p| / |d| where both lengths are above 0; v = momentum * v + d; p -= lr * v.
/// A slot without decay is stepped by plain momentum: neither decay nor ratio. Errors as sgd_step.
void lars_step(std::span<const OptimiserSlot> slots, const LarsOptions& options);

/// One average and what it follows.
struct EmaSlot {
  Tensor average;
  Tensor source;
};

/// average += (1 - keep) * (source - average). Errors (user): a source that is not contiguous f32 or f64, an average of
/// another shape or dtype, or one that shares bytes with another average or a source.
void ema_step(std::span<const EmaSlot> slots, double keep);

/// Euclidean norm of all gradients that are not empty, summed in double over fixed blocks in order. Errors (user): one
/// that is not contiguous, a slot without a parameter.
double gradient_norm(std::span<const OptimiserSlot> slots);

/// The factor that brings a norm down to max_norm (PyTorch's clip_grad_norm_): min(1, max_norm / (norm + 1e-6)).
double clip_scale(double norm, double max_norm);

}  // namespace reprise
