// Hooks on values: host code that runs once per backward, when the gradient of a value is complete and before anything
// upstream of it is differentiated. Hooks on leaves are Leaf::hooks.
//
// A hook may read the gradient, write state and parameters and record ops (none of which want a gradient). One that
// throws ends the backward before its node; called again, it runs in full.
#pragma once

#include <functional>

#include "autograd/tape.h"

namespace reprise {

/// Sees the gradient: contiguous, the value's shape and dtype. Valid during the call only.
using GradientHook = std::function<void(const TensorView& gradient)>;

/// The same numbers as `x`, of its shape and dtype; `body` runs in each backward that passes through the result and
/// must outlive them. In a replayed segment the result is kept, because host code must not stand in the middle of a
/// replay.
Value hook(Tape& tape, Arg x, const GradientHook& body);

}  // namespace reprise
