// The dtype rule that most network ops share. For shape rules of this room.
// A mixture of float types is the user's mistake and named with op and dtypes.
#pragma once

#include "ops/kernels.h"

namespace reprise {

/// Errors (user): one of the first `count` operands is neither f32 nor f64, or differs in dtype from the first.
inline void require_floats(const InferContext& c, int count) {
  require_float(c, 0);
  for (int i = 1; i < count; ++i) require_same_dtype(c, 0, i);
}

}  // namespace reprise
