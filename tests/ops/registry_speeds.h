// What one element of each op's timed row takes, forward and backward, in nanoseconds on one core of an AMD EPYC.
// The bound of a row is six times that: a tenfold regression is found, and a machine half as fast passes.
#pragma once

#include <cstring>

namespace reprise::walk {

struct MeasuredSpeed {
  const char* op;
  double ns;
};

inline constexpr MeasuredSpeed kMeasuredSpeeds[] = {
    {"add", 0.222},
    {"sub", 0.225},
    {"mul", 0.306},
    {"div", 0.353},
    {"mod", 8.66},
    {"neg", 0.151},
    {"abs", 0.177},
    {"exp", 0.346},
    {"log", 1.77},
    {"sqrt", 0.229},
    {"sin", 8.44},
    {"cos", 8.53},
    {"tanh", 0.552},
    {"sigmoid", 0.381},
    {"relu", 0.172},
    {"gelu", 16.6},
    {"silu", 0.744},
    {"clamp", 0.19},
    {"round", 0.136},
    {"round_bf16", 0.156},
    {"less", 0.0501},
    {"less_equal", 0.0499},
    {"greater", 0.0501},
    {"greater_equal", 0.0501},
    {"equal", 0.0501},
    {"not_equal", 0.0499},
    {"where", 0.215},
    {"argmax", 2.03},
    {"top_k", 4.47},
    {"cast", 0.253},
    {"cast_hard", 0.711},
    {"sum", 0.449},
    {"mean", 0.675},
    {"max", 2.06},
    {"softmax", 0.722},
    {"log_softmax", 1.06},
    {"logsumexp", 1.8},
    {"reshape", 0.178},
    {"transpose", 0.57},
    {"slice", 0.273},
    {"stop_gradient", 0.0896},
    {"concat", 0.225},
    {"copy", 0.142},
    {"gather_rows", 0.256},
    {"scatter_add_rows", 0.371},
    {"assign_rows", 0.155},
    {"add_rows", 0.218},
    {"mul_rows", 0.217},
    {"ema_rows", 0.3},
    {"count_rows", 1.5},
    {"enqueue_ring", 0.0597},
    {"enqueue_shift", 0.0741},
    {"assign", 0.0416},
    {"add_into", 0.0512},
    {"mul_into", 0.0435},
    {"ema_update", 0.0572},
    {"running_update", 0.0459},
    {"counter_add", 1.91},
    {"uniform", 3.65},
    {"normal", 17.8},
    {"dropout", 0.53},
    {"matmul", 2.78},
    {"linear", 2.9},
    {"conv2d", 6.8},
    {"max_pool2d", 5.2},
    {"avg_pool2d", 0.289},
    {"global_avg_pool", 0.21},
    {"batch_norm", 0.546},
    {"batch_norm_relu", 0.4},
    {"batch_norm_add_relu", 0.333},
    {"batch_norm_eval", 0.256},
    {"batch_norm_eval_relu", 0.318},
    {"batch_norm_eval_add_relu", 0.247},
    {"layer_norm", 0.956},
    {"l2_normalize", 0.511},
    {"group_norm", 1.63},
    {"softmax_cross_entropy", 1.61},
    {"info_nce", 2.6},
    {"mse", 0.2},
};

/// 0, which no row passes, where nothing was measured. REPRISE_PRINT_SPEED=1 makes the walk print what it measures.
inline double speed_bound(const char* op) {
  for (const MeasuredSpeed& each : kMeasuredSpeeds) {
    if (std::strcmp(each.op, op) == 0) return 6 * each.ns;
  }
  return 0;
}

}  // namespace reprise::walk
