// Pooling of NHWC images: maximum, average (padding counted, as PyTorch's default) and global average.
//
// The maximum keeps the position of each winner within its window (a byte per output) for its backward formula.
#pragma once

#include "autograd/op.h"
#include "autograd/tape.h"
#include "ops/window.h"

namespace reprise {

extern const Op kMaxPool2d;
extern const Op kAvgPool2d;
extern const Op kGlobalAvgPool;

struct PoolOptions {
  Pair window = 2;
  Pair stride = 0;  // 0: the window's own size
  Pair padding = 0;
};

/// x [n, h, w, c] to [n, oh, ow, c]. Padding never wins a maximum; ties go to the first position in row order.
/// Errors (user): no pixels, a window that does not fit, more than 255 positions, padding beyond half of the window.
Value max_pool2d(Tape& tape, Arg x, const PoolOptions& options = {});
/// Sum over the window divided by its full size. Errors (user): as max_pool2d, but for the number of positions.
Value avg_pool2d(Tape& tape, Arg x, const PoolOptions& options = {});
/// x [n, h, w, c] to [n, c]. Errors (user): another rank, no pixels.
Value global_avg_pool(Tape& tape, Arg x);

void register_pool_ops();

}  // namespace reprise
