// Group normalisation (Wu and He, 2018): each image by itself, over all its pixels and one group of channels at a time.
//
// It keeps no state and does not look across images, so images are independent and the same bits come out for any
// number of threads; parameter gradients are summed over the images in order.
#pragma once

#include <cstdint>

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kGroupNorm;

/// (x - mean) / sqrt(var + eps) * gamma + beta, mean and biased variance over the pixels and the channels of a group.
/// x [n, ..., c]; gamma, beta [c]; `groups` of c / groups neighbouring channels, as in PyTorch. Errors (user): shapes,
/// no pixels, channels that groups do not divide.
Value group_norm(Tape& tape, Arg x, std::int64_t groups, Arg gamma, Arg beta, double eps = 1e-5);

void register_group_norm_ops();

}  // namespace reprise
