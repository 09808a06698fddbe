#include "ops/loss.h"

#include <algorithm>
#include <cmath>

#include "core/parallel.h"
#include "ops/gemm.h"
#include "ops/kernels.h"
#include "ops/row_exp.h"
#include "ops/row_sums.h"
#include "ops/vector_math.h"

namespace reprise {
namespace {

// The mean of n numbers, added up in order.
double ordered_mean(const double* values, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += values[i];
  return sum / static_cast<double>(n);
}

void check_labels(const char* op, const std::int64_t* labels, std::int64_t n, std::int64_t classes) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (labels[i] < 0 || labels[i] >= classes) {
      fail(ErrorKind::user, "[{}] expected labels in [0, {}), got {} at row {}", op, classes, labels[i], i);
    }
  }
}

// ---- softmax_cross_entropy ----------------------------------------------------------------------------------------

enum CrossEntropyOperand { kLogits, kLabels };

void infer_cross_entropy(InferContext& c) {
  require_float(c, kLogits);
  const Shape& logits = c.shape(kLogits);
  if (logits.size() != 2 || element_count(logits) == 0 || c.shape(kLabels) != Shape{logits[0]}) {
    fail(ErrorKind::user,
         "[softmax_cross_entropy] expected logits [n, classes], not empty, and labels [n], got {} and {}",
         to_string(logits), to_string(c.shape(kLabels)));
  }
  if (c.dtype(kLabels) != DType::i64) {
    fail(ErrorKind::user, "[softmax_cross_entropy] expected labels of dtype i64, got {}", to_string(c.dtype(kLabels)));
  }
  c.result(0, c.dtype(kLogits), {});
  c.result(1, c.dtype(kLogits), {logits[0]});
  c.workspace(logits[0] * 8, 0);
}

template <class T>
void forward_cross_entropy_as(ForwardContext& c, std::int64_t n, std::int64_t classes) {
  const auto* labels = c.in(kLabels).as<std::int64_t>();
  const T* logits = c.in(kLogits).as<T>();
  T* lse = c.out(1).as<T>();
  auto* losses = reinterpret_cast<double*>(c.workspace);
  parallel_blocks(n, row_grain(classes), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const T* x = logits + r * classes;
      T top = row_max(x, classes);
      T sum = exp_sum(x, classes, top);
      double log_sum = static_cast<double>(top) + std::log(static_cast<double>(sum));
      lse[r] = static_cast<T>(log_sum);
      losses[r] = log_sum - static_cast<double>(x[labels[r]]);
    }
  });
  *c.out(0).as<T>() = static_cast<T>(ordered_mean(losses, n));
}

void forward_cross_entropy(ForwardContext& c) {
  std::int64_t n = c.in(kLogits).shape[0], classes = c.in(kLogits).shape[1];
  check_labels("softmax_cross_entropy", c.in(kLabels).as<std::int64_t>(), n, classes);
  dispatch_float(c.in(kLogits).dtype, [&]<class T>() { forward_cross_entropy_as<T>(c, n, classes); });
}

template <class T>
void backward_cross_entropy_as(BackwardContext& c) {
  std::int64_t n = c.operand_shape(kLogits).shape[0], classes = c.operand_shape(kLogits).shape[1];
  const auto* labels = c.in(kLabels).as<std::int64_t>();
  const T* logits = c.in(kLogits).as<T>();
  const T* lse = c.out(1).as<T>();
  T* targets = c.grad(kLogits).as<T>();
  bool accumulate = c.accumulates(kLogits);
  T scale = *c.grad_out(0).as<T>() / static_cast<T>(n);
  parallel_blocks(n, row_grain(classes), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const T* x = logits + r * classes;
      T* dx = targets + r * classes;
      exp_scaled(x, classes, lse[r], scale, dx, accumulate);
      dx[labels[r]] -= scale;
    }
  });
}

void backward_cross_entropy(BackwardContext& c) {
  if (!c.wants(kLogits)) return;
  dispatch_float(c.grad_out(0).dtype, [&]<class T>() { backward_cross_entropy_as<T>(c); });
}

// ---- info_nce -----------------------------------------------------------------------------------------------------

enum NceOperand { kQuery, kKey, kQueue };
enum NceResult { kLoss, kPositive, kWeights, kInverse };

struct NceSizes {
  std::int64_t n, d, rows;
  double temperature;
  NceSizes(const Shape& query, const Shape& queue, const Attrs& attrs)
      : n(query[0]), d(query[1]), rows(queue[0]), temperature(attrs.real(0)) {}
};

void infer_nce(InferContext& c) {
  require_floats(c, 3);
  const Shape &query = c.shape(kQuery), &key = c.shape(kKey), &queue = c.shape(kQueue);
  if (query.size() != 2 || query[0] < 1 || query[1] < 1 || key != query || queue.size() != 2 || queue[1] != query[1]) {
    fail(ErrorKind::user, "[info_nce] expected query [n, d], key [n, d] and queue [rows, d], got {}, {} and {}",
         to_string(query), to_string(key), to_string(queue));
  }
  NceSizes s(query, queue, c.attrs());
  if (!(s.temperature > 0)) fail(ErrorKind::user, "[info_nce] expected a temperature above 0, got {}", s.temperature);
  DType dtype = c.dtype(kQuery);
  c.result(kLoss, dtype, {});
  c.result(kPositive, dtype, {s.n});
  c.result(kWeights, dtype, {s.n, s.rows});
  c.result(kInverse, dtype, {s.n});
  c.workspace(s.n * 8, s.n * s.d * size_of(dtype));
}

// Logits become weights e^(logit - largest) in place; their sum's inverse makes probabilities of them.
template <class T>
void forward_nce_as(ForwardContext& c, const NceSizes& s) {
  const T *query = c.in(kQuery).as<T>(), *key = c.in(kKey).as<T>();
  T *positive = c.out(kPositive).as<T>(), *weights = c.out(kWeights).as<T>(), *inverse = c.out(kInverse).as<T>();
  auto* losses = reinterpret_cast<double*>(c.workspace);
  T scale = static_cast<T>(1 / s.temperature);
  gemm(GemmCall<T>{.transpose_b = true,
                   .m = s.n,
                   .n = s.rows,
                   .k = s.d,
                   .alpha = scale,
                   .a = query,
                   .lda = s.d,
                   .b = c.in(kQueue).as<T>(),
                   .ldb = s.d,
                   .c = weights,
                   .ldc = s.rows});
  parallel_blocks(s.n, row_grain(s.rows), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      T* row = weights + r * s.rows;
      const T *q = query + r * s.d, *k = key + r * s.d;
      T logit = row_sum<T>(s.d, [&](std::int64_t i) { return q[i] * k[i]; }) * scale;
      T top = std::max(logit, row_max(row, s.rows));
      T first = math::exp(logit - top);
      T sum = first + exp_sum_in_place(row, s.rows, top);
      inverse[r] = T(1) / sum;
      positive[r] = first / sum;
      losses[r] = static_cast<double>(top - logit) + std::log(static_cast<double>(sum));
    }
  });
  *c.out(kLoss).as<T>() = static_cast<T>(ordered_mean(losses, s.n));
}

void forward_nce(ForwardContext& c) {
  NceSizes s(c.in(kQuery).shape, c.in(kQueue).shape, *c.attrs);
  dispatch_float(c.in(kQuery).dtype, [&]<class T>() { forward_nce_as<T>(c, s); });
}

// With p the probabilities and f = grad / (n temperature):
// dquery = f ((p_0 - 1) key + sum_j p_j queue_j), dkey = f (p_0 - 1) query.
template <class T>
void backward_nce_as(BackwardContext& c, const NceSizes& s) {
  T factor =
      static_cast<T>(static_cast<double>(*c.grad_out(kLoss).as<T>()) / (static_cast<double>(s.n) * s.temperature));
  const T* positive = c.out(kPositive).as<T>();
  if (c.wants(kQuery)) {
    auto* mixed = reinterpret_cast<T*>(c.workspace);
    const T *inverse = c.out(kInverse).as<T>(), *key = c.in(kKey).as<T>();
    gemm(GemmCall<T>{.m = s.n,
                     .n = s.d,
                     .k = s.rows,
                     .a = c.out(kWeights).as<T>(),
                     .lda = s.rows,
                     .b = c.in(kQueue).as<T>(),
                     .ldb = s.d,
                     .c = mixed,
                     .ldc = s.d});
    T* dq = c.grad(kQuery).as<T>();
    bool accumulate = c.accumulates(kQuery);
    for (std::int64_t r = 0; r < s.n; ++r) {
      for (std::int64_t i = r * s.d; i < (r + 1) * s.d; ++i) {
        T value = factor * (inverse[r] * mixed[i] + (positive[r] - T(1)) * key[i]);
        dq[i] = accumulate ? dq[i] + value : value;
      }
    }
  }
  if (c.wants(kKey)) {
    const T* query = c.in(kQuery).as<T>();
    T* dk = c.grad(kKey).as<T>();
    bool accumulate = c.accumulates(kKey);
    for (std::int64_t r = 0; r < s.n; ++r) {
      for (std::int64_t i = r * s.d; i < (r + 1) * s.d; ++i) {
        T value = factor * (positive[r] - T(1)) * query[i];
        dk[i] = accumulate ? dk[i] + value : value;
      }
    }
  }
}

void backward_nce(BackwardContext& c) {
  NceSizes s(c.operand_shape(kQuery).shape, c.operand_shape(kQueue).shape, *c.attrs);
  dispatch_float(c.grad_out(kLoss).dtype, [&]<class T>() { backward_nce_as<T>(c, s); });
}

// ---- mse ----------------------------------------------------------------------------------------------------------

constexpr std::int64_t kMseBlock = 16384;  // elements whose squares are summed in their own type: part of the result

void infer_mse(InferContext& c) {
  require_floats(c, 2);
  require_same_shape(c, 0, 1);
  std::int64_t n = element_count(c.shape(0));
  if (n == 0) fail(ErrorKind::user, "[mse] expected at least one element, got {}", to_string(c.shape(0)));
  c.result(0, c.dtype(0), {});
  c.workspace((n + kMseBlock - 1) / kMseBlock * 8, 0);
}

void forward_mse(ForwardContext& c) {
  std::int64_t n = c.in(0).size();
  dispatch_float(c.in(0).dtype, [&]<class T>() {
    const T *a = c.in(0).as<T>(), *b = c.in(1).as<T>();
    auto* sums = reinterpret_cast<double*>(c.workspace);
    parallel_blocks(n, kMseBlock, [&](std::int64_t begin, std::int64_t end) {
      sums[begin / kMseBlock] = static_cast<double>(row_sum<T>(end - begin, [&](std::int64_t i) {
        T d = a[begin + i] - b[begin + i];
        return d * d;
      }));
    });
    double sum = 0;
    for (std::int64_t i = 0; i < (n + kMseBlock - 1) / kMseBlock; ++i) sum += sums[i];
    *c.out(0).as<T>() = static_cast<T>(sum / static_cast<double>(n));
  });
}

template <class T>
void mse_gradient(BackwardContext& c, int index, T factor) {
  const T *a = c.in(0).as<T>(), *b = c.in(1).as<T>();
  T* target = c.grad(index).as<T>();
  bool accumulate = c.accumulates(index);
  parallel_blocks(c.operand_shape(index).size(), kMseBlock, [&](std::int64_t begin, std::int64_t end) {
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      T value = factor * (a[i] - b[i]);
      target[i] = accumulate ? target[i] + value : value;
    }
  });
}

void backward_mse(BackwardContext& c) {
  dispatch_float(c.grad_out(0).dtype, [&]<class T>() {
    T factor = T(2) * *c.grad_out(0).as<T>() / static_cast<T>(c.operand_shape(0).size());
    if (c.wants(0)) mse_gradient<T>(c, 0, factor);
    if (c.wants(1)) mse_gradient<T>(c, 1, -factor);
  });
}

}  // namespace

const Op kSoftmaxCrossEntropy{
    .name = "softmax_cross_entropy",
    .about = "mean over rows of logsumexp(logits) minus the label's logit",
    .inputs = {"logits", "labels"},
    .outputs = {"loss"},
    .made = {"logsumexp"},
    .saves = {{"logits", {in("logits"), in("labels"), made("logsumexp")}}},
    .keeps = {"logsumexp"},
    .saved_reuse = {{in("logits"), "logits"}},
    .accumulates = true,
    .fails_first = true,
    .infer = infer_cross_entropy,
    .forward = forward_cross_entropy,
    .backward = backward_cross_entropy,
};

const Op kInfoNce{
    .name = "info_nce",
    .about = "mean cross-entropy of a query's similarity to its key against those to a queue",
    .inputs = {"query", "key", "queue"},
    .outputs = {"loss"},
    .made = {"positive", "weights", "inverse"},
    .attrs = {{"temperature", AttrKind::real}},
    .saves = {{"query", {in("key"), in("queue"), made("positive"), made("weights"), made("inverse")}},
              {"key", {in("query"), made("positive")}}},
    .accumulates = true,
    .fails_first = true,
    .infer = infer_nce,
    .forward = forward_nce,
    .backward = backward_nce,
};

const Op kMse{
    .name = "mse",
    .about = "mean of squared differences",
    .inputs = {"prediction", "target"},
    .outputs = {"loss"},
    .saves = {{"prediction", {in("prediction"), in("target")}}, {"target", {in("prediction"), in("target")}}},
    .accumulates = true,
    .fails_first = true,
    .infer = infer_mse,
    .forward = forward_mse,
    .backward = backward_mse,
};

Value softmax_cross_entropy(Tape& tape, Arg logits, Arg labels) {
  return tape.apply_one(kSoftmaxCrossEntropy, {std::move(logits), std::move(labels)});
}

Value info_nce(Tape& tape, Arg query, Arg key, Arg queue, double temperature) {
  return tape.apply_one(kInfoNce, {std::move(query), std::move(key), std::move(queue)}, Attrs().add(temperature));
}

Value mse(Tape& tape, Arg prediction, Arg target) {
  return tape.apply_one(kMse, {std::move(prediction), std::move(target)});
}

std::int64_t count_top_k(const Tensor& logits, const Tensor& labels, int k) {
  if (logits.shape().size() != 2 || labels.shape() != Shape{logits.shape()[0]}) {
    fail(ErrorKind::user, "[count_top_k] expected logits [n, classes] and labels [n], got {} and {}",
         to_string(logits.shape()), to_string(labels.shape()));
  }
  if (!is_compute_float(logits.dtype()) || labels.dtype() != DType::i64) {
    fail(ErrorKind::user, "[count_top_k] expected logits of f32 or f64 and labels of i64, got {} and {}",
         to_string(logits.dtype()), to_string(labels.dtype()));
  }
  std::int64_t n = logits.shape()[0], classes = logits.shape()[1], hits = 0;
  std::span<const std::int64_t> wanted = labels.host_read<std::int64_t>();
  check_labels("count_top_k", wanted.data(), n, classes);
  dispatch_float(logits.dtype(), [&]<class T>() {
    std::span<const T> values = logits.host_read<T>();
    for (std::int64_t r = 0; r < n; ++r) {
      const T* row = values.data() + r * classes;
      std::int64_t label = wanted[static_cast<std::size_t>(r)], ahead = 0;
      for (std::int64_t i = 0; i < classes; ++i)
        ahead += row[i] > row[label] || (row[i] == row[label] && i < label) || row[i] != row[i];
      if (ahead < k && row[label] == row[label]) ++hits;
    }
  });
  return hits;
}

void register_loss_ops() {
  register_op(kSoftmaxCrossEntropy);
  register_op(kInfoNce);
  register_op(kMse);
}

}  // namespace reprise
