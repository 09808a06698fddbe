// The few array operations that tape and engine need themselves: strided copies, sums of gradients, filling with a
// number. Element order and partition are fixed, so results do not depend on the number of threads. Each does nothing
// in a dry trace, where views have no bytes.
#pragma once

#include "core/tensor.h"

namespace reprise {

/// to = from, element by element; same shape and dtype, any strides.
void copy_strided(const TensorView& from, const TensorView& to);

/// to += from; contiguous, same shape, f32, f64 or bf16 (each sum rounded).
void add_into(const TensorView& from, const TensorView& to);

/// Every element = value; contiguous.
void fill(const TensorView& to, double value);

}  // namespace reprise
