// Winograd convolution: 3x3 kernels of stride 1 and padding 1, multiples of 16 channels, f32, for processors with
// AVX-512. Tiles of 4 x 4 pixels go through small buffers of transformed values that stay in the cache, straight from
// and to NHWC: no copies of whole activations, and a workspace of a megabyte where kernels are small.
//
// The bits do not depend on the number of threads, in any pass. Called by ops/conv2d.cpp (the kernels) and
// ops/implementation.cpp (the rule).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/window.h"

namespace reprise::winograd {

/// Null when these kernels take the case on this machine, else why not.
const char* refusal(const ConvGeometry& geometry);

/// Workspace bytes of one call, a part of them for each thread of now. A call with more threads than its workspace is
/// for runs on as many as that holds.
std::int64_t workspace(const ConvGeometry& geometry, ConvPass pass);

/// x [n, h, w, in], weight [out, in, 3, 3], bias [out] or null, y [n, h, w, out].
void forward(const ConvGeometry& geometry, const float* x, const float* weight, const float* bias, float* y,
             std::span<std::byte> workspace);
/// accumulate: adds to dx (dw) instead of overwriting it.
void backward_data(const ConvGeometry& geometry, const float* dy, const float* weight, float* dx, bool accumulate,
                   std::span<std::byte> workspace);
void backward_weights(const ConvGeometry& geometry, const float* x, const float* dy, float* dw, bool accumulate,
                      std::span<std::byte> workspace);

}  // namespace reprise::winograd
