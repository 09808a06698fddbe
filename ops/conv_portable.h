// Convolution by im2col and Eigen, f32 and f64: the portable fallback and the f64 reference. NHWC, OIHW, contiguous.
//
// The batch is cut into at most 16 runs of images, each with its own patch matrix in the workspace; partial weight
// gradients are added in block order. So the bits do not depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/window.h"

namespace reprise::portable {

/// Workspace bytes for elements of `item_bytes`.
std::int64_t conv_workspace(const ConvGeometry& geometry, ConvPass pass, std::int64_t item_bytes);

/// y [n, oh, ow, out] = x [n, h, w, in] * weight [out, in / groups, kh, kw] (+ bias [out], which may be null).
template <class T>
void conv_forward(const ConvGeometry& geometry, const T* x, const T* weight, const T* bias, T* y, std::byte* workspace);
/// dx (+)= the gradient of x, from dy [n, oh, ow, out].
template <class T>
void conv_backward_data(const ConvGeometry& geometry, const T* dy, const T* weight, T* dx, bool accumulate,
                        std::byte* workspace);
/// dw (+)= the gradient of weight.
template <class T>
void conv_backward_weights(const ConvGeometry& geometry, const T* x, const T* dy, T* dw, bool accumulate,
                           std::byte* workspace);

}  // namespace reprise::portable
