#include "ops/normalize.h"

#include <algorithm>
#include <cmath>

#include "ops/column_sums.h"
#include "ops/kernels.h"
#include "ops/row_sums.h"

namespace reprise {
namespace {

struct Rows {
  std::int64_t count = 1, width = 1;

  explicit Rows(const Shape& x) : width(x.back()) {
    for (int i = 0; i + 1 < x.size(); ++i) count *= x[i];
  }
  std::int64_t grain() const { return row_grain(width); }
};

void require_rows(const InferContext& c) {
  if (c.shape(0).size() < 1 || c.shape(0).back() < 1) {
    fail(ErrorKind::user, "[{}] expected x [..., channels] with at least one channel, got {}", c.op().name,
         to_string(c.shape(0)));
  }
}

// ---- layer_norm ---------------------------------------------------------------------------------------------------

enum LayerOperand { kX, kGamma, kBeta };
enum LayerResult { kY, kMean, kRstd };

void infer_layer(InferContext& c) {
  require_rows(c);
  require_floats(c, 3);
  Rows rows(c.shape(kX));
  for (int i : {kGamma, kBeta}) {
    if (c.shape(i) != Shape{rows.width}) {
      fail(ErrorKind::user, "[layer_norm] expected gamma and beta [{}] for x {}, got {}", rows.width,
           to_string(c.shape(kX)), to_string(c.shape(i)));
    }
  }
  c.result(kY, c.dtype(kX), c.shape(kX));
  c.result(kMean, c.dtype(kX), {rows.count});
  c.result(kRstd, c.dtype(kX), {rows.count});
  c.workspace(0, RowBlocks(rows.count).workspace(2, rows.width));
}

template <class T>
void forward_layer_as(ForwardContext& c) {
  Rows rows(c.in(kX).shape);
  T eps = static_cast<T>(c.attrs->real(0)), width = static_cast<T>(rows.width);
  const T *gamma = c.in(kGamma).as<T>(), *beta = c.in(kBeta).as<T>();
  T *mean = c.out(kMean).as<T>(), *rstd = c.out(kRstd).as<T>();
  parallel_blocks(rows.count, rows.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const T* x = c.in(kX).as<T>() + r * rows.width;
      T* y = c.out(kY).as<T>() + r * rows.width;
      T m = row_sum<T>(rows.width, [&](std::int64_t i) { return x[i]; }) / width;
      T variance = row_sum<T>(rows.width, [&](std::int64_t i) { return (x[i] - m) * (x[i] - m); }) / width;
      T s = T(1) / std::sqrt(variance + eps);
#pragma omp simd
      for (std::int64_t i = 0; i < rows.width; ++i) y[i] = (x[i] - m) * s * gamma[i] + beta[i];
      mean[r] = m, rstd[r] = s;
    }
  });
}

void forward_layer(ForwardContext& c) {
  dispatch_float(c.in(kX).dtype, [&]<class T>() { forward_layer_as<T>(c); });
}

// With xhat = (x - mean) rstd and g = dy gamma: dx = rstd (g - mean(g) - xhat mean(g xhat)), dgamma = sum dy xhat,
// dbeta = sum dy.
template <class T>
void layer_row_gradient(const T* x, const T* dy, const T* gamma, T mean, T rstd, std::int64_t n, T* dx,
                        bool accumulate) {
  T width = static_cast<T>(n);
  T g = row_sum<T>(n, [&](std::int64_t i) { return dy[i] * gamma[i]; }) / width;
  T gx = row_sum<T>(n, [&](std::int64_t i) { return dy[i] * gamma[i] * (x[i] - mean); }) * rstd * rstd / width;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    T value = rstd * (dy[i] * gamma[i] - g - (x[i] - mean) * gx);
    dx[i] = accumulate ? dx[i] + value : value;
  }
}

template <class T>
void backward_layer_x(BackwardContext& c, const Rows& rows) {
  T* dx = c.grad(kX).as<T>();
  bool accumulate = c.accumulates(kX);
  const T *x = c.in(kX).as<T>(), *dy = c.grad_out(kY).as<T>(), *gamma = c.in(kGamma).as<T>();
  const T *mean = c.out(kMean).as<T>(), *rstd = c.out(kRstd).as<T>();
  parallel_blocks(rows.count, rows.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      std::int64_t at = r * rows.width;
      layer_row_gradient(x + at, dy + at, gamma, mean[r], rstd[r], rows.width, dx + at, accumulate);
    }
  });
}

// Partial sums of each block of rows: dbeta, then dgamma.
template <class T>
void backward_layer_parameters(BackwardContext& c, const Rows& rows) {
  bool gamma = c.wants(kGamma);
  RowBlocks blocks(rows.count);
  auto* partial = reinterpret_cast<double*>(c.workspace);
  const T* dy = c.grad_out(kY).as<T>();
  const T* x = gamma ? c.in(kX).as<T>() : nullptr;
  const T *mean = gamma ? c.out(kMean).as<T>() : nullptr, *rstd = gamma ? c.out(kRstd).as<T>() : nullptr;
  std::int64_t n = rows.width;
  parallel_blocks(rows.count, blocks.rows_per_block, [&](std::int64_t begin, std::int64_t end) {
    double* for_beta = partial + begin / blocks.rows_per_block * 2 * n;
    double* for_gamma = for_beta + n;
    std::fill(for_beta, for_beta + 2 * n, 0.0);
    for (std::int64_t r = begin; r < end; ++r) {
      const T* row = dy + r * n;
      for (std::int64_t i = 0; i < n; ++i) for_beta[i] += static_cast<double>(row[i]);
      if (!gamma) continue;
      const T* values = x + r * n;
      for (std::int64_t i = 0; i < n; ++i)
        for_gamma[i] += static_cast<double>(row[i]) * static_cast<double>((values[i] - mean[r]) * rstd[r]);
    }
  });
  if (c.wants(kBeta)) combine_blocks(blocks, partial, 2 * n, n, c.grad(kBeta).as<T>(), c.accumulates(kBeta));
  if (gamma) combine_blocks(blocks, partial + n, 2 * n, n, c.grad(kGamma).as<T>(), c.accumulates(kGamma));
}

void backward_layer(BackwardContext& c) {
  Rows rows(c.operand_shape(kX).shape);
  dispatch_float(c.grad_out(kY).dtype, [&]<class T>() {
    // The parameters first: dx may take over the memory of dy or x.
    if (c.wants(kGamma) || c.wants(kBeta)) backward_layer_parameters<T>(c, rows);
    if (c.wants(kX)) backward_layer_x<T>(c, rows);
  });
}

// ---- l2_normalize -------------------------------------------------------------------------------------------------

void infer_l2(InferContext& c) {
  require_rows(c);
  require_float(c, 0);
  c.result(0, c.dtype(0), c.shape(0));
  c.result(1, c.dtype(0), {Rows(c.shape(0)).count});
}

template <class T>
void forward_l2_as(ForwardContext& c) {
  Rows rows(c.in(0).shape);
  T eps = static_cast<T>(c.attrs->real(0));
  T* norms = c.out(1).as<T>();
  parallel_blocks(rows.count, rows.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const T* x = c.in(0).as<T>() + r * rows.width;
      T* y = c.out(0).as<T>() + r * rows.width;
      T norm = std::sqrt(row_sum<T>(rows.width, [&](std::int64_t i) { return x[i] * x[i]; }));
      T divisor = std::max(norm, eps);
#pragma omp simd
      for (std::int64_t i = 0; i < rows.width; ++i) y[i] = x[i] / divisor;
      norms[r] = norm;
    }
  });
}

void forward_l2(ForwardContext& c) {
  dispatch_float(c.in(0).dtype, [&]<class T>() { forward_l2_as<T>(c); });
}

// With d = max(|x|, eps): dx = (dy - y (y . dy)) / d; below eps the divisor is a constant and the second term goes.
template <class T>
void backward_l2_as(BackwardContext& c) {
  Rows rows(c.operand_shape(0).shape);
  T eps = static_cast<T>(c.attrs->real(0));
  const T *norms = c.out(1).as<T>(), *results = c.out(0).as<T>(), *grads = c.grad_out(0).as<T>();
  T* targets = c.grad(0).as<T>();
  bool accumulate = c.accumulates(0);
  parallel_blocks(rows.count, rows.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      std::int64_t at = r * rows.width;
      const T *y = results + at, *dy = grads + at;
      T* dx = targets + at;
      T along = norms[r] > eps ? row_sum<T>(rows.width, [&](std::int64_t i) { return y[i] * dy[i]; }) : T(0);
      T divisor = std::max(norms[r], eps);
#pragma omp simd
      for (std::int64_t i = 0; i < rows.width; ++i) {
        T value = (dy[i] - y[i] * along) / divisor;
        dx[i] = accumulate ? dx[i] + value : value;
      }
    }
  });
}

void backward_l2(BackwardContext& c) {
  if (!c.wants(0)) return;
  dispatch_float(c.grad_out(0).dtype, [&]<class T>() { backward_l2_as<T>(c); });
}

}  // namespace

const Op kLayerNorm{
    .name = "layer_norm",
    .about = "normalises each row to mean 0 and variance 1, then scales and shifts",
    .inputs = {"x", "gamma", "beta"},
    .outputs = {"y"},
    .made = {"mean", "rstd"},
    .attrs = {{"eps", AttrKind::real}},
    .saves = {{"x", {in("x"), in("gamma"), made("mean"), made("rstd")}},
              {"gamma", {in("x"), made("mean"), made("rstd")}},
              {"beta", {}}},
    .keeps = {"mean", "rstd"},
    .reuse = {{"x", "y"}},
    .grad_reuse = {{"y", "x"}},
    .saved_reuse = {{in("x"), "x"}},
    .accumulates = true,
    .fails_first = true,
    .infer = infer_layer,
    .forward = forward_layer,
    .backward = backward_layer,
};

const Op kL2Normalize{
    .name = "l2_normalize",
    .about = "divides each row by its Euclidean norm",
    .inputs = {"x"},
    .outputs = {"y"},
    .made = {"norm"},
    .attrs = {{"eps", AttrKind::real}},
    .saves = {{"x", {out("y"), made("norm")}}},
    .keeps = {"norm"},
    .reuse = {{"x", "y"}},
    .grad_reuse = {{"y", "x"}},
    .saved_reuse = {{out("y"), "x"}},
    .accumulates = true,
    .fails_first = true,
    .infer = infer_l2,
    .forward = forward_l2,
    .backward = backward_l2,
};

Value layer_norm(Tape& tape, Arg x, Arg gamma, Arg beta, double eps) {
  return tape.apply_one(kLayerNorm, {std::move(x), std::move(gamma), std::move(beta)}, Attrs().add(eps));
}

Value l2_normalize(Tape& tape, Arg x, double eps) {
  return tape.apply_one(kL2Normalize, {std::move(x)}, Attrs().add(eps));
}

void register_normalize_ops() {
  register_op(kLayerNorm);
  register_op(kL2Normalize);
}

}  // namespace reprise
