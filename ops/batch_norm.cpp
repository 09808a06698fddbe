#include "ops/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "ops/batch_norm_kernels.h"
#include "ops/broadcast.h"
#include "ops/kernels.h"

namespace reprise {
namespace {

// Where an op of this family has its operands: the residual, if any, stands after x.
struct Layout {
  bool residual, relu, eval;
  int gamma, beta, mean, variance;  // the last two: inputs of eval ops

  explicit Layout(const Op& op)
      : residual(&op == &kBatchNormAddRelu || &op == &kBatchNormEvalAddRelu),
        relu(residual || &op == &kBatchNormRelu || &op == &kBatchNormEvalRelu),
        eval(&op == &kBatchNormEval || &op == &kBatchNormEvalRelu || &op == &kBatchNormEvalAddRelu),
        gamma(residual ? 2 : 1),
        beta(gamma + 1),
        mean(gamma + 2),
        variance(gamma + 3) {}
};

constexpr int kVectors = 6;                  // see channel_vector()
constexpr int kX = 0, kResidual = 1;         // operands
constexpr int kY = 0, kMean = 1, kRstd = 2;  // results
constexpr int kMomentum = 0, kEps = 1;       // attributes of training ops; eval ops have eps alone

norm_kernels::Sizes sizes_of(const Shape& x) {
  std::int64_t rows = 1;
  for (int i = 0; i + 1 < x.size(); ++i) rows *= x[i];
  return {rows, x.back()};
}

std::int64_t channel_bytes(const norm_kernels::Sizes& s) {
  return round_up_64(s.channels * static_cast<std::int64_t>(sizeof(double)));
}

void require_channels(const InferContext& c, int index) {
  Shape expected{c.shape(kX).back()};
  if (c.shape(index) != expected) {
    fail(ErrorKind::user, "[{}] expected per-channel operands of shape {} for x {}, got {}", c.op().name,
         to_string(expected), to_string(c.shape(kX)), to_string(c.shape(index)));
  }
}

void infer(InferContext& c) {
  Layout at(c.op());
  if (c.shape(kX).size() < 1 || element_count(c.shape(kX)) == 0) {
    fail(ErrorKind::user, "[{}] expected x [..., channels] with at least one element, got {}", c.op().name,
         to_string(c.shape(kX)));
  }
  int operands = at.variance + 1;
  require_floats(c, operands);
  for (int i = at.gamma; i < operands; ++i) require_channels(c, i);
  if (at.residual && c.shape(kResidual) != c.shape(kX)) {
    fail(ErrorKind::user, "[{}] expected a residual of x's shape {}, got {}", c.op().name, to_string(c.shape(kX)),
         to_string(c.shape(kResidual)));
  }
  norm_kernels::Sizes s = sizes_of(c.shape(kX));
  if (!at.eval && s.rows < 2) {
    fail(ErrorKind::user, "[{}] expected at least 2 values per channel in training, got {} from x {}", c.op().name,
         s.rows, to_string(c.shape(kX)));
  }
  DType dtype = c.dtype(kX);
  c.result(kY, dtype, c.shape(kX));
  if (!at.eval) {
    c.result(kMean, dtype, {s.channels});
    c.result(kRstd, dtype, {s.channels});
  }
  std::int64_t item = size_of(dtype), vectors = kVectors * channel_bytes(s);
  std::int64_t forward = norm_kernels::apply_workspace(s, item);
  if (!at.eval) forward = std::max(forward, norm_kernels::statistics_workspace(s, item));
  c.workspace(vectors + forward, vectors + norm_kernels::backward_workspace(s, item));
}

// Vectors of one number per channel (mean or sum of g, variance or sum of g x, scale, rstd, two factors or packed
// statistics) at the start of the workspace; the kernels' own scratch after them.
template <class U>
U* channel_vector(std::byte* workspace, const norm_kernels::Sizes& s, int which) {
  return reinterpret_cast<U*>(workspace + which * channel_bytes(s));
}

/// A running statistic as the loop below takes it: one that lies by strides goes through `scratch`. (The tape makes
/// inputs contiguous; what is updated it leaves where it is.)
template <class T>
TensorView packed_statistic(const TensorView& statistic, T* scratch) {
  if (statistic.contiguous()) return statistic;
  TensorView packed{reinterpret_cast<std::byte*>(scratch), statistic.dtype, statistic.shape,
                    contiguous_strides(statistic.shape)};
  copy_elements(packed, statistic);
  return packed;
}

template <class T>
void update_running(const ForwardContext& c, const norm_kernels::Sizes& s, const double* mean, const double* variance) {
  if (!c.writes(0)) return;
  double momentum = c.attrs->real(kMomentum), rows = static_cast<double>(s.rows), unbias = rows / (rows - 1);
  TensorView means = packed_statistic(c.update(0), channel_vector<T>(c.workspace, s, 4)),
             variances = packed_statistic(c.update(1), channel_vector<T>(c.workspace, s, 5));
  T *running_mean = means.as<T>(), *running_variance = variances.as<T>();
  for (std::int64_t i = 0; i < s.channels; ++i) {
    running_mean[i] = static_cast<T>((1 - momentum) * static_cast<double>(running_mean[i]) + momentum * mean[i]);
    running_variance[i] =
        static_cast<T>((1 - momentum) * static_cast<double>(running_variance[i]) + momentum * variance[i] * unbias);
  }
  if (means.data != c.update(0).data) copy_elements(c.update(0), means);
  if (variances.data != c.update(1).data) copy_elements(c.update(1), variances);
}

template <class T>
void forward_as(ForwardContext& c, const Layout& at) {
  norm_kernels::Sizes s = sizes_of(c.in(kX).shape);
  std::byte* scratch = c.workspace + kVectors * channel_bytes(s);
  const T* gamma = c.in(at.gamma).as<T>();
  T* scale = channel_vector<T>(c.workspace, s, 2);
  const T* centre = nullptr;
  if (at.eval) {
    double eps = c.attrs->real(0);
    centre = c.in(at.mean).as<T>();
    const T* variance = c.in(at.variance).as<T>();
    for (std::int64_t i = 0; i < s.channels; ++i)
      scale[i] = static_cast<T>(gamma[i] / std::sqrt(static_cast<double>(variance[i]) + eps));
  } else if (c.is_given(kMean)) {  // a replay: the statistics of this very x are there
    const T *saved_mean = c.out(kMean).as<T>(), *saved_rstd = c.out(kRstd).as<T>();
    for (std::int64_t i = 0; i < s.channels; ++i) scale[i] = gamma[i] * saved_rstd[i];
    centre = saved_mean;
  } else {
    double *mean = channel_vector<double>(c.workspace, s, 0), *variance = channel_vector<double>(c.workspace, s, 1);
    norm_kernels::statistics(s, c.in(kX).as<T>(), mean, variance, scratch);
    T *saved_mean = c.out(kMean).as<T>(), *saved_rstd = c.out(kRstd).as<T>();
    for (std::int64_t i = 0; i < s.channels; ++i) {
      saved_mean[i] = static_cast<T>(mean[i]);
      saved_rstd[i] = static_cast<T>(1 / std::sqrt(variance[i] + c.attrs->real(kEps)));
      scale[i] = gamma[i] * saved_rstd[i];
    }
    update_running<T>(c, s, mean, variance);
    centre = saved_mean;
  }
  norm_kernels::apply<T>(s,
                         {.x = c.in(kX).as<T>(),
                          .residual = at.residual ? c.in(kResidual).as<T>() : nullptr,
                          .mean = centre,
                          .scale = scale,
                          .shift = c.in(at.beta).as<T>(),
                          .y = c.out(kY).as<T>(),
                          .relu = at.relu},
                         scratch);
}

void forward(ForwardContext& c) {
  dispatch_float(c.in(kX).dtype, [&]<class T>() { forward_as<T>(c, Layout(*c.op)); });
}

template <class T>
void store(T* target, const double* values, const T* factor, std::int64_t n, bool accumulate) {
  for (std::int64_t i = 0; i < n; ++i) {
    T value = static_cast<T>(factor ? values[i] * static_cast<double>(factor[i]) : values[i]);
    target[i] = accumulate ? target[i] + value : value;
  }
}

// 1 / sqrt(variance + eps) into the fourth vector: made by the forward in training, from the running variance in eval.
template <class T>
const T* backward_rstd(BackwardContext& c, const Layout& at, const norm_kernels::Sizes& s) {
  if (!at.eval) return c.out(kRstd).as<T>();
  T* rstd = channel_vector<T>(c.workspace, s, 3);
  const T* variance = c.in(at.variance).as<T>();
  for (std::int64_t i = 0; i < s.channels; ++i)
    rstd[i] = static_cast<T>(1 / std::sqrt(static_cast<double>(variance[i]) + c.attrs->real(0)));
  return rstd;
}

// Gradients by the chain rule through mean and variance (Ioffe and Szegedy, 2015, section 3), with g the gradient
// before relu, N rows and xhat = (x - mean) rstd: dbeta = sum g, dgamma = sum g xhat, dx = gamma rstd (g - dbeta / N -
// xhat dgamma / N); in eval, mean and variance are constants: dx = gamma rstd g.
template <class T>
void backward_as(BackwardContext& c, const Layout& at) {
  norm_kernels::Sizes s = sizes_of(c.operand_shape(kX).shape);
  std::byte* scratch = c.workspace + kVectors * channel_bytes(s);
  double *sum_g = channel_vector<double>(c.workspace, s, 0), *sum_gx = channel_vector<double>(c.workspace, s, 1);
  bool wants_x = c.wants(kX), wants_gamma = c.wants(at.gamma), wants_beta = c.wants(at.beta);
  bool wants_residual = at.residual && c.wants(kResidual);
  bool centred = wants_gamma || (wants_x && !at.eval);
  const T* dy = c.grad_out(kY).as<T>();
  const T* out = at.relu ? c.out(kY).as<T>() : nullptr;
  const T* x = centred ? c.in(kX).as<T>() : nullptr;
  const T* mean = !centred ? nullptr : at.eval ? c.in(at.mean).as<T>() : c.out(kMean).as<T>();
  const T* rstd = wants_x || wants_gamma ? backward_rstd<T>(c, at, s) : nullptr;
  bool add_residual = wants_residual && c.accumulates(kResidual);
  T* residual_grad = wants_residual ? c.grad(kResidual).as<T>() : nullptr;
  if (centred || wants_beta || wants_residual) {
    norm_kernels::reduce<T>(s,
                            {.dy = dy,
                             .out = out,
                             .x = x,
                             .mean = mean,
                             .residual_grad = residual_grad,
                             .accumulate_residual = add_residual,
                             .sum_g = sum_g,
                             .sum_gx = centred ? sum_gx : nullptr},
                            scratch);
  }
  if (wants_beta)
    store(c.grad(at.beta).as<T>(), sum_g, static_cast<const T*>(nullptr), s.channels, c.accumulates(at.beta));
  if (wants_gamma) store(c.grad(at.gamma).as<T>(), sum_gx, rstd, s.channels, c.accumulates(at.gamma));
  if (!wants_x) return;
  const T* gamma = c.in(at.gamma).as<T>();
  T* scale = channel_vector<T>(c.workspace, s, 2);
  T *from_g = channel_vector<T>(c.workspace, s, 4), *from_gx = channel_vector<T>(c.workspace, s, 5);
  for (std::int64_t i = 0; i < s.channels; ++i) {
    double r = static_cast<double>(rstd[i]), rows = static_cast<double>(s.rows);
    scale[i] = gamma[i] * rstd[i];
    if (at.eval) continue;
    from_g[i] = static_cast<T>(sum_g[i] / rows);
    from_gx[i] = static_cast<T>(sum_gx[i] * r * r / rows);
  }
  // A residual's gradient that was just written is dy after the mask already.
  bool masked = wants_residual && !add_residual;
  norm_kernels::gradient<T>(s,
                            {.dy = masked ? residual_grad : dy,
                             .out = masked ? nullptr : out,
                             .x = at.eval ? nullptr : x,
                             .mean = mean,
                             .scale = scale,
                             .from_g = from_g,
                             .from_gx = from_gx,
                             .dx = c.grad(kX).as<T>(),
                             .accumulate = c.accumulates(kX)},
                            scratch);
}

void backward(BackwardContext& c) {
  dispatch_float(c.grad_out(kY).dtype, [&]<class T>() { backward_as<T>(c, Layout(*c.op)); });
}

const std::vector<AttrSpec> kTrainAttrs{{"momentum", AttrKind::real}, {"eps", AttrKind::real}};
const std::vector<AttrSpec> kEvalAttrs{{"eps", AttrKind::real}};

// What each gradient needs; `masked` ops read their own output for the mask of relu.
std::vector<SaveRule> save_rules(bool eval, bool masked, bool residual) {
  std::vector<Saved> x, gamma, mask;
  if (masked) mask.push_back(out("y"));
  if (eval) {
    x = {in("gamma"), in("variance")};
    gamma = {in("x"), in("mean"), in("variance")};
  } else {
    x = {in("x"), in("gamma"), made("mean"), made("rstd")};
    gamma = {in("x"), made("mean"), made("rstd")};
  }
  x.insert(x.end(), mask.begin(), mask.end());
  gamma.insert(gamma.end(), mask.begin(), mask.end());
  std::vector<SaveRule> rules{{"x", x}, {"gamma", gamma}, {"beta", mask}};
  if (residual) rules.push_back({"residual", mask});
  return rules;
}

Op training_op(const char* name, const char* about, bool masked, bool residual) {
  Op op;
  op.name = name;
  op.about = about;
  op.inputs = residual ? std::vector<const char*>{"x", "residual", "gamma", "beta"}
                       : std::vector<const char*>{"x", "gamma", "beta"};
  op.updates = {"running_mean", "running_var"};
  op.outputs = {"y"};
  op.made = {"mean", "rstd"};
  op.keeps = {"mean", "rstd"};
  op.attrs = kTrainAttrs;
  op.saves = save_rules(false, masked, residual);
  op.reuse = {{"x", "y"}};
  op.grad_reuse = {{"y", "x"}};
  op.saved_reuse = {{in("x"), "x"}};
  if (residual) {
    op.reuse.push_back({"residual", "y"});
    op.grad_reuse = {{"y", "residual"}, {"y", "x"}};
  }
  op.accumulates = true;
  op.fails_first = true;
  op.outputs_ignore_updates = true;
  op.replays_from_keeps = true;
  op.infer = infer;
  op.forward = forward;
  op.backward = backward;
  return op;
}

Op eval_op(const char* name, const char* about, bool masked, bool residual) {
  Op op = training_op(name, about, masked, residual);
  for (const char* statistic : {"mean", "variance"}) op.inputs.push_back(statistic);
  op.updates.clear();
  op.made.clear();
  op.keeps.clear();
  op.replays_from_keeps = false;
  op.attrs = kEvalAttrs;
  op.saves = save_rules(true, masked, residual);
  op.outputs_ignore_updates = false;
  return op;
}

/// In the order of kTrainAttrs or kEvalAttrs.
Attrs attrs_of(const BatchNormOptions& o) {
  Attrs attrs;
  if (o.training) attrs.add(o.momentum);
  return attrs.add(o.eps);
}

}  // namespace

const Op kBatchNorm = training_op(
    "batch_norm", "normalises each channel by the batch's statistics; moves the running ones", false, false);
const Op kBatchNormRelu = training_op("batch_norm_relu", "batch_norm, then relu", true, false);
const Op kBatchNormAddRelu = training_op("batch_norm_add_relu", "batch_norm, plus a residual, then relu", true, true);
const Op kBatchNormEval = eval_op("batch_norm_eval", "normalises each channel by the running statistics", false, false);
const Op kBatchNormEvalRelu = eval_op("batch_norm_eval_relu", "batch_norm_eval, then relu", true, false);
const Op kBatchNormEvalAddRelu =
    eval_op("batch_norm_eval_add_relu", "batch_norm_eval, plus a residual, then relu", true, true);

Value batch_norm(Tape& tape, Arg x, Arg gamma, Arg beta, const Tensor& running_mean, const Tensor& running_var,
                 const BatchNormOptions& o) {
  return tape.apply_one(o.training ? kBatchNorm : kBatchNormEval,
                        {std::move(x), std::move(gamma), std::move(beta), running_mean, running_var}, attrs_of(o));
}

Value batch_norm_relu(Tape& tape, Arg x, Arg gamma, Arg beta, const Tensor& running_mean, const Tensor& running_var,
                      const BatchNormOptions& o) {
  return tape.apply_one(o.training ? kBatchNormRelu : kBatchNormEvalRelu,
                        {std::move(x), std::move(gamma), std::move(beta), running_mean, running_var}, attrs_of(o));
}

Value batch_norm_add_relu(Tape& tape, Arg x, Arg residual, Arg gamma, Arg beta, const Tensor& running_mean,
                          const Tensor& running_var, const BatchNormOptions& o) {
  return tape.apply_one(
      o.training ? kBatchNormAddRelu : kBatchNormEvalAddRelu,
      {std::move(x), std::move(residual), std::move(gamma), std::move(beta), running_mean, running_var}, attrs_of(o));
}

void register_batch_norm_ops() {
  for (const Op* op : {&kBatchNorm, &kBatchNormRelu, &kBatchNormAddRelu, &kBatchNormEval, &kBatchNormEvalRelu,
                       &kBatchNormEvalAddRelu}) {
    register_op(*op);
  }
}

}  // namespace reprise
