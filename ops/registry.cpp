#include "ops/registry.h"

#include "ops/arithmetic.h"
#include "ops/batch_norm.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/conv2d.h"
#include "ops/draws.h"
#include "ops/group_norm.h"
#include "ops/loss.h"
#include "ops/matmul.h"
#include "ops/normalize.h"
#include "ops/pool.h"
#include "ops/queue.h"
#include "ops/reduce.h"
#include "ops/row_average.h"
#include "ops/row_state.h"
#include "ops/rows.h"
#include "ops/select.h"
#include "ops/shape_ops.h"
#include "ops/softmax.h"
#include "ops/state.h"
#include "ops/unary.h"

namespace reprise {

void register_builtin_ops() {
  static const bool kOnce = [] {
    register_shape_ops();
    register_cast_ops();
    register_arithmetic_ops();
    register_unary_ops();
    register_compare_ops();
    register_select_ops();
    register_reduce_ops();
    register_softmax_ops();
    register_rows_ops();
    register_draw_ops();
    register_matmul_ops();
    register_conv2d_ops();
    register_pool_ops();
    register_batch_norm_ops();
    register_normalize_ops();
    register_group_norm_ops();
    register_loss_ops();
    register_state_ops();
    register_row_state_ops();
    register_row_average_ops();
    register_queue_ops();
    return true;
  }();
  (void)kOnce;
}

}  // namespace reprise
