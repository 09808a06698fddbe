#include "ops/matmul.h"

#include "ops/column_sums.h"
#include "ops/gemm.h"
#include "ops/kernels.h"
#include "ops/operands.h"

namespace reprise {
namespace {

// ---- matmul -------------------------------------------------------------------------------------------------------

enum MatmulOperand { kA, kB };

struct MatmulSizes {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
};

MatmulSizes matmul_sizes(const Shape& a, const Shape& b, const Attrs& attrs) {
  MatmulSizes s;
  s.transpose_a = attrs.flag(0), s.transpose_b = attrs.flag(1);
  int rank = a.size();
  if ((rank != 2 && rank != 3) || b.size() != rank || (rank == 3 && a[0] != b[0])) {
    fail(ErrorKind::user, "[matmul] expected two matrices, or two batches of matrices of one size, got {} and {}",
         to_string(a), to_string(b));
  }
  s.batch = rank == 3 ? a[0] : 1;
  s.m = a[rank - 2], s.k = a[rank - 1];
  if (s.transpose_a) std::swap(s.m, s.k);
  std::int64_t inner = b[rank - 2];
  s.n = b[rank - 1];
  if (s.transpose_b) std::swap(inner, s.n);
  if (inner != s.k) {
    fail(ErrorKind::user, "[matmul] expected equal inner extents, got {}{} and {}{}", to_string(a),
         s.transpose_a ? " transposed" : "", to_string(b), s.transpose_b ? " transposed" : "");
  }
  return s;
}

void infer_matmul(InferContext& c) {
  MatmulSizes s = matmul_sizes(c.shape(kA), c.shape(kB), c.attrs());
  require_floats(c, 2);
  Shape shape{s.m, s.n};
  if (c.shape(kA).size() == 3) shape.insert(0, s.batch);
  c.result(0, c.dtype(kA), shape);
}

// Many small products are shared out among the threads, each made by one of them; by their sizes, so that the bits do
// not depend on the number of threads.
constexpr std::int64_t kSmallProduct = 1 << 14, kManyProducts = 8, kBlockOfProducts = 1 << 16;  // multiplications

// One product per batch member; a large one is parallel inside.
template <class T>
void run_batched(std::int64_t batch, GemmCall<T> call, std::int64_t step_a, std::int64_t step_b, std::int64_t step_c) {
  std::int64_t size = call.m * call.n * std::max<std::int64_t>(1, call.k);
  if (batch >= kManyProducts && size <= kSmallProduct) {
    std::int64_t grain = std::max<std::int64_t>(1, kBlockOfProducts / std::max<std::int64_t>(1, size));
    parallel_blocks(batch, grain, [&](std::int64_t begin, std::int64_t end) {
      GemmCall<T> one = call;
      one.a += begin * step_a, one.b += begin * step_b, one.c += begin * step_c;
      for (std::int64_t i = begin; i < end; ++i) {
        gemm_serial(one);
        one.a += step_a, one.b += step_b, one.c += step_c;
      }
    });
    return;
  }
  for (std::int64_t i = 0; i < batch; ++i) {
    gemm(call);
    call.a += step_a, call.b += step_b, call.c += step_c;
  }
}

void forward_matmul(ForwardContext& c) {
  MatmulSizes s = matmul_sizes(c.in(kA).shape, c.in(kB).shape, *c.attrs);
  dispatch_float(c.out(0).dtype, [&]<class T>() {
    GemmCall<T> call{.transpose_a = s.transpose_a,
                     .transpose_b = s.transpose_b,
                     .m = s.m,
                     .n = s.n,
                     .k = s.k,
                     .a = c.in(kA).as<T>(),
                     .lda = s.transpose_a ? s.m : s.k,
                     .b = c.in(kB).as<T>(),
                     .ldb = s.transpose_b ? s.k : s.n,
                     .c = c.out(0).as<T>(),
                     .ldc = s.n};
    run_batched(s.batch, call, s.m * s.k, s.k * s.n, s.m * s.n);
  });
}

// With C = op(A) op(B): dA = dC op(B)^T and dB = op(A)^T dC, each transposed where the operand is.
template <class T>
void backward_matmul_as(BackwardContext& c, const MatmulSizes& s) {
  const T* dc = c.grad_out(0).as<T>();
  std::int64_t a = s.m * s.k, b = s.k * s.n, step = s.m * s.n;
  std::int64_t ldb = s.transpose_b ? s.k : s.n, lda = s.transpose_a ? s.m : s.k;
  if (c.wants(kA)) {
    GemmCall<T> call{.beta = c.accumulates(kA) ? T(1) : T(0), .c = c.grad(kA).as<T>(), .ldc = lda};
    if (s.transpose_a) {
      call.transpose_a = s.transpose_b, call.transpose_b = true, call.m = s.k, call.n = s.m, call.k = s.n;
      call.a = c.in(kB).as<T>(), call.lda = ldb, call.b = dc, call.ldb = s.n;
      run_batched(s.batch, call, b, step, a);
    } else {
      call.transpose_b = !s.transpose_b, call.m = s.m, call.n = s.k, call.k = s.n;
      call.a = dc, call.lda = s.n, call.b = c.in(kB).as<T>(), call.ldb = ldb;
      run_batched(s.batch, call, step, b, a);
    }
  }
  if (c.wants(kB)) {
    GemmCall<T> call{.beta = c.accumulates(kB) ? T(1) : T(0), .c = c.grad(kB).as<T>(), .ldc = ldb};
    if (s.transpose_b) {
      call.transpose_a = true, call.transpose_b = s.transpose_a, call.m = s.n, call.n = s.k, call.k = s.m;
      call.a = dc, call.lda = s.n, call.b = c.in(kA).as<T>(), call.ldb = lda;
      run_batched(s.batch, call, step, a, b);
    } else {
      call.transpose_a = !s.transpose_a, call.m = s.k, call.n = s.n, call.k = s.m;
      call.a = c.in(kA).as<T>(), call.lda = lda, call.b = dc, call.ldb = s.n;
      run_batched(s.batch, call, a, step, b);
    }
  }
}

void backward_matmul(BackwardContext& c) {
  MatmulSizes s = matmul_sizes(c.operand_shape(kA).shape, c.operand_shape(kB).shape, *c.attrs);
  dispatch_float(c.grad_out(0).dtype, [&]<class T>() { backward_matmul_as<T>(c, s); });
}

// ---- linear -------------------------------------------------------------------------------------------------------

enum LinearOperand { kX, kWeight, kBias };

struct LinearSizes {
  std::int64_t rows = 0, in = 0, out = 0;
};

LinearSizes linear_sizes(const Shape& x, const Shape& weight) {
  if (x.size() < 1 || weight.size() != 2 || x.back() != weight[1]) {
    fail(ErrorKind::user, "[linear] expected x [..., in] and weight [out, in], got {} and {}", to_string(x),
         to_string(weight));
  }
  LinearSizes s{1, weight[1], weight[0]};
  for (int i = 0; i + 1 < x.size(); ++i) s.rows *= x[i];
  return s;
}

void infer_linear(InferContext& c) {
  LinearSizes s = linear_sizes(c.shape(kX), c.shape(kWeight));
  bool bias = c.has(kBias);
  require_floats(c, bias ? 3 : 2);
  if (bias && c.shape(kBias) != Shape{s.out}) {
    fail(ErrorKind::user, "[linear] expected bias [{}] beside weight {}, got {}", s.out, to_string(c.shape(kWeight)),
         to_string(c.shape(kBias)));
  }
  Shape shape = c.shape(kX);
  shape[shape.size() - 1] = s.out;
  c.result(0, c.dtype(kX), shape);
  c.workspace(0, bias ? column_sums_workspace(s.rows, s.out) : 0);
}

template <class T>
void forward_linear_as(ForwardContext& c, const LinearSizes& s) {
  T* y = c.out(0).as<T>();
  bool bias = c.has(kBias);
  if (bias) {
    const T* b = c.in(kBias).as<T>();
    parallel_blocks(s.rows, row_grain(s.out), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) std::copy(b, b + s.out, y + r * s.out);
    });
  }
  gemm(GemmCall<T>{.transpose_b = true,
                   .m = s.rows,
                   .n = s.out,
                   .k = s.in,
                   .a = c.in(kX).as<T>(),
                   .lda = s.in,
                   .b = c.in(kWeight).as<T>(),
                   .ldb = s.in,
                   .beta = bias ? T(1) : T(0),
                   .c = y,
                   .ldc = s.out});
}

void forward_linear(ForwardContext& c) {
  LinearSizes s = linear_sizes(c.in(kX).shape, c.in(kWeight).shape);
  dispatch_float(c.out(0).dtype, [&]<class T>() { forward_linear_as<T>(c, s); });
}

template <class T>
void backward_linear_as(BackwardContext& c, const LinearSizes& s) {
  const T* dy = c.grad_out(0).as<T>();
  if (c.wants(kX)) {
    gemm(GemmCall<T>{.m = s.rows,
                     .n = s.in,
                     .k = s.out,
                     .a = dy,
                     .lda = s.out,
                     .b = c.in(kWeight).as<T>(),
                     .ldb = s.in,
                     .beta = c.accumulates(kX) ? T(1) : T(0),
                     .c = c.grad(kX).as<T>(),
                     .ldc = s.in});
  }
  if (c.wants(kWeight)) {
    gemm(GemmCall<T>{.transpose_a = true,
                     .m = s.out,
                     .n = s.in,
                     .k = s.rows,
                     .a = dy,
                     .lda = s.out,
                     .b = c.in(kX).as<T>(),
                     .ldb = s.in,
                     .beta = c.accumulates(kWeight) ? T(1) : T(0),
                     .c = c.grad(kWeight).as<T>(),
                     .ldc = s.in});
  }
  if (c.inputs > kBias && c.wants(kBias)) {
    column_sums(dy, s.rows, s.out, c.grad(kBias).as<T>(), c.accumulates(kBias), c.workspace);
  }
}

void backward_linear(BackwardContext& c) {
  LinearSizes s = linear_sizes(c.operand_shape(kX).shape, c.operand_shape(kWeight).shape);
  dispatch_float(c.grad_out(0).dtype, [&]<class T>() { backward_linear_as<T>(c, s); });
}

}  // namespace

const Op kMatmul{
    .name = "matmul",
    .about = "product of two matrices or of two batches of matrices, each transposed or not",
    .inputs = {"a", "b"},
    .outputs = {"c"},
    .attrs = {{"transpose_a", AttrKind::flag}, {"transpose_b", AttrKind::flag}},
    .saves = {{"a", {in("b")}}, {"b", {in("a")}}},
    .accumulates = true,
    .fails_first = true,
    .infer = infer_matmul,
    .forward = forward_matmul,
    .backward = backward_matmul,
};

const Op kLinear{
    .name = "linear",
    .about = "x times the transposed weight, plus bias, along the last axis",
    .inputs = {"x", "weight", "bias?"},
    .outputs = {"y"},
    .saves = {{"x", {in("weight")}}, {"weight", {in("x")}}, {"bias", {}}},
    .accumulates = true,
    .fails_first = true,
    .infer = infer_linear,
    .forward = forward_linear,
    .backward = backward_linear,
};

Value matmul(Tape& tape, Arg a, Arg b, bool transpose_a, bool transpose_b) {
  return tape.apply_one(kMatmul, {std::move(a), std::move(b)}, Attrs().add(transpose_a).add(transpose_b));
}

Value linear(Tape& tape, Arg x, Arg weight, Arg bias) {
  if (is_left_out(bias)) return tape.apply_one(kLinear, {std::move(x), std::move(weight)});
  return tape.apply_one(kLinear, {std::move(x), std::move(weight), std::move(bias)});
}

void register_matmul_ops() {
  register_op(kMatmul);
  register_op(kLinear);
}

}  // namespace reprise
