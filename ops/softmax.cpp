// softmax, log_softmax, logsumexp: one line of the axis at a time. Sums of a line run in index order, so the bits do
// not depend on threads.
#include "ops/softmax.h"

#include <cmath>
#include <limits>

#include "ops/broadcast.h"
#include "ops/kernels.h"
#include "ops/vector_math.h"

namespace reprise {

namespace {

// One line of n elements, `stride` apart. `Strided` false lets the loops vectorise.
template <class T, bool Strided>
struct Line {
  T* p;
  std::int64_t stride;
  T& operator[](std::int64_t i) const { return Strided ? p[i * stride] : p[i]; }
};

/// Calls body.operator()<T>(n, number, at) for each line of a tensor like `like`: n its elements, `number` counts
/// lines, at(view) is this line of a view of that shape.
template <class Context, class Body>
void for_each_line(const Context& c, const TensorView& like, const Body& body) {
  AxisSplit s = split_axis(like.shape, normalize_axis(c.attrs->integer(0), like.shape.size(), c.op->name));
  std::int64_t grain = std::max<std::int64_t>(1, kElementGrain / 4 / std::max<std::int64_t>(1, s.n));
  dispatch_float(like.dtype, [&]<class T>() {
    parallel_blocks(s.outer * s.inner, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t line = begin; line < end; ++line) {
        std::int64_t first = line / s.inner * s.n * s.inner + line % s.inner;
        if (s.inner == 1) {
          body.template operator()<T>(s.n, line, [&](const TensorView& v) {
            return Line<T, false>{v.as<T>() + first, 1};
          });
        } else {
          body.template operator()<T>(s.n, line, [&](const TensorView& v) {
            return Line<T, true>{v.as<T>() + first, s.inner};
          });
        }
      }
    });
  });
}

/// y[i] = f(i). All is handed over by value: nothing that the loop reads could be changed by what it writes, and so it
/// becomes vector code.
template <class L, class F>
void fill_line(L y, std::int64_t n, F f) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = f(i);
}

template <class L>
auto largest(const L& x, std::int64_t n) {
  auto best = x[0];
#pragma omp simd reduction(max : best)
  for (std::int64_t i = 0; i < n; ++i) best = x[i] > best ? x[i] : best;
  return best;
}

constexpr std::int64_t kLineStretch = 512;  // elements that are added in their own type

// Sums of a line: short stretches in the element type, these in double.
template <class T, class Term>
double sum_line(std::int64_t n, const Term& term) {
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += kLineStretch) {
    std::int64_t end = std::min(n, begin + kLineStretch);
    T part = 0;
#pragma omp simd reduction(+ : part)
    for (std::int64_t i = begin; i < end; ++i) part += term(i);
    total += static_cast<double>(part);
  }
  return total;
}

// Where all elements of a line are minus infinity a shift by the largest would make NaN of them, where e^x is 0.
template <class T>
T shift_of(T largest) {
  return std::isinf(largest) && largest < 0 ? T(0) : largest;
}

void infer(InferContext& c) {
  infer_same_float(c);
  normalize_axis(c.attrs().integer(0), c.shape(0).size(), c.op().name);
}

void forward_softmax(ForwardContext& c) {
  for_each_line(c, c.in(0), [&]<class T>(std::int64_t n, std::int64_t, auto at) {
    auto x = at(c.in(0)), y = at(c.out(0));
    if (n == 0) return;
    T shift = shift_of(largest(x, n));
    fill_line(y, n, [=](std::int64_t i) { return math::exp(x[i] - shift); });
    T scale = static_cast<T>(1.0 / sum_line<T>(n, [&](std::int64_t i) { return y[i]; }));
    fill_line(y, n, [=](std::int64_t i) { return y[i] * scale; });
  });
}

void backward_softmax(BackwardContext& c) {
  const TensorView& to = c.grad(0);
  for_each_line(c, to, [&]<class T>(std::int64_t n, std::int64_t, auto at) {
    auto g = at(c.grad_out(0)), y = at(c.out(0));
    T dot = static_cast<T>(sum_line<T>(n, [&](std::int64_t i) { return g[i] * y[i]; }));
    fill_line(at(to), n, [=](std::int64_t i) { return y[i] * (g[i] - dot); });
  });
}

template <class T, class L>
T log_sum_exp(const L& x, std::int64_t n, T shift) {
  double total = sum_line<T>(n, [&](std::int64_t i) { return math::exp(x[i] - shift); });
  return static_cast<T>(static_cast<double>(shift) + std::log(total));
}

void forward_log_softmax(ForwardContext& c) {
  for_each_line(c, c.in(0), [&]<class T>(std::int64_t n, std::int64_t, auto at) {
    auto x = at(c.in(0));
    if (n == 0) return;
    T total = log_sum_exp<T>(x, n, shift_of(largest(x, n)));
    fill_line(at(c.out(0)), n, [=](std::int64_t i) { return x[i] - total; });
  });
}

void backward_log_softmax(BackwardContext& c) {
  const TensorView& to = c.grad(0);
  for_each_line(c, to, [&]<class T>(std::int64_t n, std::int64_t, auto at) {
    auto g = at(c.grad_out(0)), y = at(c.out(0));
    T total = static_cast<T>(sum_line<T>(n, [&](std::int64_t i) { return g[i]; }));
    fill_line(at(to), n, [=](std::int64_t i) { return g[i] - math::exp(y[i]) * total; });
  });
}

void infer_logsumexp(InferContext& c) {
  require_float(c, 0);
  Shape shape = c.shape(0);
  int axis = normalize_axis(c.attrs().integer(0), shape.size(), "logsumexp");
  shape[axis] = 1;
  if (!c.attrs().flag(1)) shape.erase(axis);
  c.result(0, c.dtype(0), shape);
}

void forward_logsumexp(ForwardContext& c) {
  for_each_line(c, c.in(0), [&]<class T>(std::int64_t n, std::int64_t number, auto at) {
    auto x = at(c.in(0));
    T top = n > 0 ? largest(x, n) : -std::numeric_limits<T>::infinity();
    // Without a shift an infinity stays what it is; shifted by itself it would be NaN.
    c.out(0).as<T>()[number] = log_sum_exp<T>(x, n, std::isinf(top) ? T(0) : top);
  });
}

void backward_logsumexp(BackwardContext& c) {
  const TensorView& to = c.grad(0);
  for_each_line(c, to, [&]<class T>(std::int64_t n, std::int64_t number, auto at) {
    auto x = at(c.in(0));
    T g = c.grad_out(0).as<T>()[number], total = c.out(0).as<T>()[number];
    fill_line(at(to), n, [=](std::int64_t i) { return g * math::exp(x[i] - total); });
  });
}

}  // namespace

const Op kSoftmax{.name = "softmax",
                  .about = "e^x along one axis, scaled to sum 1",
                  .inputs = {"x"},
                  .outputs = {"out"},
                  .attrs = {{"axis", AttrKind::integer}},
                  .saves = {{"x", {out("out")}}},
                  .reuse = {{"x", "out"}},
                  .grad_reuse = {{"out", "x"}},
                  .fails_first = true,
                  .infer = infer,
                  .forward = forward_softmax,
                  .backward = backward_softmax};

const Op kLogSoftmax{.name = "log_softmax",
                     .about = "logarithm of softmax along one axis",
                     .inputs = {"x"},
                     .outputs = {"out"},
                     .attrs = {{"axis", AttrKind::integer}},
                     .saves = {{"x", {out("out")}}},
                     .reuse = {{"x", "out"}},
                     .grad_reuse = {{"out", "x"}},
                     .fails_first = true,
                     .infer = infer,
                     .forward = forward_log_softmax,
                     .backward = backward_log_softmax};

const Op kLogSumExp{.name = "logsumexp",
                    .about = "logarithm of the sum of e^x along one axis",
                    .inputs = {"x"},
                    .outputs = {"out"},
                    .attrs = {{"axis", AttrKind::integer}, {"keep", AttrKind::flag}},
                    .saves = {{"x", {in("x"), out("out")}}},
                    .infer = infer_logsumexp,
                    .forward = forward_logsumexp,
                    .backward = backward_logsumexp};

Value softmax(Tape& tape, Arg x, std::int64_t axis) {
  return tape.apply_one(kSoftmax, {std::move(x)}, Attrs().add(axis));
}
Value log_softmax(Tape& tape, Arg x, std::int64_t axis) {
  return tape.apply_one(kLogSoftmax, {std::move(x)}, Attrs().add(axis));
}
Value logsumexp(Tape& tape, Arg x, std::int64_t axis, bool keep) {
  return tape.apply_one(kLogSumExp, {std::move(x)}, Attrs().add(axis).add(keep));
}

void register_softmax_ops() {
  for (const Op* op : {&kSoftmax, &kLogSoftmax, &kLogSumExp}) register_op(*op);
}

}  // namespace reprise
