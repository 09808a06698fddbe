// 2-D convolution (cross-correlation, as in every training framework): activations NHWC, weight OIHW.
//
// f32 by our Winograd kernels where they pay, else by oneDNN where it is built in, else by im2col and Eigen; f64 by the
// latter. The choice follows a fixed rule (ops/implementation.h). oneDNN's weight gradients repeat bit for bit at one
// thread count, but differ between counts. Winograd makes tiles of 4 x 4 pixels: an infinity or NaN reaches all of one.
#pragma once

#include <cstdint>

#include "autograd/op.h"
#include "autograd/tape.h"
#include "ops/window.h"

namespace reprise {

extern const Op kConv2d;

struct ConvOptions {
  Pair stride = 1;
  Pair padding = 0;
  Pair dilation = 1;
  std::int64_t groups = 1;
};

/// x [n, h, w, in], weight [out, in / groups, kh, kw], bias [out] or left out. Result [n, oh, ow, out], with
/// oh = (h + 2 padding - dilation (kh - 1) - 1) / stride + 1. Errors (user): shapes that do not fit.
Value conv2d(Tape& tape, Arg x, Arg weight, Arg bias = {}, const ConvOptions& options = {});

void register_conv2d_ops();

}  // namespace reprise
