// The geometry of a convolution from its operands' shapes and attributes; shared by conv2d's shape rule, its kernels
// and the explanation of the implementation choice.
#pragma once

#include "autograd/attrs.h"
#include "core/shape.h"
#include "ops/window.h"

namespace reprise {

/// x [n, h, w, in], weight [out, in / groups, kh, kw]; attributes in kConv2d's order; `bias`: whether there is
/// one. Errors (user): shapes that do not fit.
ConvGeometry conv_geometry(const Shape& x, const Shape& weight, const Attrs& attrs, bool bias);

}  // namespace reprise
