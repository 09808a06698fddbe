// where, argmax, top_k. argmax and top_k give indices that are kept: a flip by one rounding would change the function.
#include "ops/select.h"

#include <algorithm>

#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/elementwise_functors.h"
#include "ops/kernels.h"
#include "ops/largest.h"
#include "ops/operands.h"
#include "ops/sum_loops.h"

namespace reprise {

namespace {

namespace fn = functors;

// ---- where
void infer_where(InferContext& c) {
  require_number(c, 1);
  require_same_dtype(c, 1, 2);
  require_same_dtype(c, 0, 1);
  Shape shape = require_broadcast(c, 1, 2), joined;
  if (!broadcast_shapes(shape, c.shape(0), &joined)) {
    fail(ErrorKind::user, "[where] expected a condition that broadcasts with {}, got {}", to_string(shape),
         to_string(c.shape(0)));
  }
  c.result(0, c.dtype(1), joined);
}

void forward_where(ForwardContext& c) {
  dispatch_number(c.out(0).dtype,
                  [&]<class T>() { map_elements<T, T, T, T>(fn::Where{}, c.out(0), c.in(0), c.in(1), c.in(2)); });
}

void backward_where(BackwardContext& c) {
  const TensorView& g = c.grad_out(0);
  dispatch_float(g.dtype, [&]<class T>() {
    if (c.wants(1)) sum_elements<T, T, T>(fn::WhereGradA{}, g.shape, c.grad(1), 1.0, g, c.in(0));
    if (c.wants(2)) sum_elements<T, T, T>(fn::WhereGradB{}, g.shape, c.grad(2), 1.0, g, c.in(0));
  });
}

// ---- argmax and top_k
void infer_argmax(InferContext& c) {
  require_number(c, 0);
  Shape shape = c.shape(0);
  int axis = normalize_axis(c.attrs().integer(0), shape.size(), "argmax");
  if (shape[axis] == 0) {
    fail(ErrorKind::user, "[argmax] expected at least one element along axis {}, got shape {}", axis, to_string(shape));
  }
  shape[axis] = 1;
  if (!c.attrs().flag(1)) shape.erase(axis);
  c.result(0, DType::i64, shape);
}

void forward_argmax(ForwardContext& c) {
  const TensorView& x = c.in(0);
  AxisSplit s = split_axis(x.shape, normalize_axis(c.attrs->integer(0), x.shape.size(), "argmax"));
  dispatch_number(x.dtype, [&]<class T>() {
    for_each_largest(s, x.as<T>(),
                     [&](std::int64_t line, T, std::int64_t at) { c.out(0).as<std::int64_t>()[line] = at; });
  });
}

// Larger first; a NaN is larger than any number.
template <class T>
bool before(T a, T b) {
  return a > b || (a != a && b == b);
}

constexpr std::int64_t kInserted = 32;  // so few are kept sorted while one pass goes over the numbers

/// list[0 .. k) = the k first of x[0 .. n) in the order of before(), the lower index first.
template <class T>
void first_of(const T* x, std::int64_t n, std::int64_t k, std::int64_t* list) {
  if (k <= kInserted) {
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      if (count == k && !before(x[i], x[list[k - 1]])) continue;
      std::int64_t at = count < k ? count++ : k - 1;
      for (; at > 0 && before(x[i], x[list[at - 1]]); --at) list[at] = list[at - 1];
      list[at] = i;
    }
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) list[i] = i;
  // A total order, so that what the sort does with equals cannot show.
  std::partial_sort(list, list + k, list + n, [x](std::int64_t a, std::int64_t b) {
    return before(x[a], x[b]) || (!before(x[b], x[a]) && a < b);
  });
}

void infer_top_k(InferContext& c) {
  require_number(c, 0);
  Shape shape = c.shape(0);
  std::int64_t k = c.attrs().integer(0);
  if (shape.empty() || k < 1 || k > shape.back()) {
    fail(ErrorKind::user, "[top_k] expected k between 1 and the extent of the last axis of {}, got {}",
         to_string(shape), k);
  }
  std::int64_t rows = shape.back() == 0 ? 0 : element_count(shape) / shape.back();
  // Every block of rows needs a list of its own.
  c.workspace(rows * shape.back() * size_of(DType::i64), 0);
  shape[shape.size() - 1] = k;
  c.result(0, c.dtype(0), shape);
  c.result(1, DType::i64, shape);
}

void forward_top_k(ForwardContext& c) {
  std::int64_t n = c.in(0).shape.back(), k = c.attrs->integer(0);
  std::int64_t rows = n == 0 ? 0 : c.in(0).size() / n;
  auto* lists = reinterpret_cast<std::int64_t*>(c.workspace);
  dispatch_number(c.in(0).dtype, [&]<class T>() {
    parallel_blocks(rows, row_grain(n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T* x = c.in(0).as<T>() + row * n;
        std::int64_t* list = lists + row * n;
        first_of(x, n, k, list);
        for (std::int64_t i = 0; i < k; ++i) {
          c.out(0).as<T>()[row * k + i] = x[list[i]];
          c.out(1).as<std::int64_t>()[row * k + i] = list[i];
        }
      }
    });
  });
}

}  // namespace

const Op kWhere{.name = "where",
                .about = "a where the condition is not 0, else b; all broadcast",
                .inputs = {"cond", "a", "b"},
                .outputs = {"out"},
                .saves = {{"a", {in("cond")}}, {"b", {in("cond")}}},
                .reuse = {{"a", "out"}, {"b", "out"}},
                .strided = true,
                .infer = infer_where,
                .forward = forward_where,
                .backward = backward_where};

const Op kArgmax{.name = "argmax",
                 .about = "index of the largest element along one axis, the lower one on ties; no gradient",
                 .inputs = {"x"},
                 .outputs = {"index"},
                 .attrs = {{"axis", AttrKind::integer}, {"keep", AttrKind::flag}},
                 .decisions = {"index"},
                 .infer = infer_argmax,
                 .forward = forward_argmax};

const Op kTopK{.name = "top_k",
               .about = "the k largest of the last axis and their indices, the lower one first on ties; no gradient",
               .inputs = {"x"},
               .outputs = {"values", "indices"},
               .attrs = {{"k", AttrKind::integer}},
               .decisions = {"indices"},
               .infer = infer_top_k,
               .forward = forward_top_k};

Value where(Tape& tape, Arg cond, Arg a, Arg b) {
  match_dtypes(tape, a, b);
  DType dtype = a.dtype();
  if (!is_number(cond) && cond.dtype() != dtype) {
    // A cast to a narrower type could turn what is not 0 into 0.
    if (cond.dtype() != DType::boolean && cond.dtype() != DType::u8) cond = not_equal(tape, std::move(cond), 0.0);
    cond = as_dtype(tape, std::move(cond), dtype);
  } else if (is_number(cond)) {
    cond = as_dtype(tape, Arg(std::get<double>(cond.what()) != 0.0 ? 1.0 : 0.0), dtype);
  }
  return tape.apply_one(kWhere, {std::move(cond), std::move(a), std::move(b)});
}

Value argmax(Tape& tape, Arg x, std::int64_t axis, bool keep) {
  return tape.apply_one(kArgmax, {std::move(x)}, Attrs().add(axis).add(keep));
}

TopK top_k(Tape& tape, Arg x, std::int64_t k) {
  Arg operands[] = {std::move(x)};
  auto [values, indices] = tape.apply_n<2>(kTopK, operands, Attrs().add(k));
  return {std::move(values), std::move(indices)};
}

void register_select_ops() {
  for (const Op* op : {&kWhere, &kArgmax, &kTopK}) register_op(*op);
}

}  // namespace reprise
