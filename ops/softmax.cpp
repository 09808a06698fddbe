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

/// Calls body(first element, line number, line maker) for each line; the maker turns a base pointer into a Line.
template <class Body>
void for_each_line(const AxisSplit& s, const Body& body) {
  std::int64_t grain = std::max<std::int64_t>(1, kElementGrain / 4 / std::max<std::int64_t>(1, s.n));
  parallel_blocks(s.outer * s.inner, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      std::int64_t first = line / s.inner * s.n * s.inner + line % s.inner;
      if (s.inner == 1) {
        body(first, line, [](auto* p) { return Line<std::remove_pointer_t<decltype(p)>, false>{p, 1}; });
      } else {
        body(first, line, [&](auto* p) { return Line<std::remove_pointer_t<decltype(p)>, true>{p, s.inner}; });
      }
    }
  });
}

template <class L>
auto largest(const L& x, std::int64_t n) {
  auto best = x[0];
#pragma omp simd reduction(max : best)
  for (std::int64_t i = 0; i < n; ++i) best = x[i] > best ? x[i] : best;
  return best;
}

// Sums of a line: short stretches in the element type, these in double.
template <class T, class Term>
double sum_line(std::int64_t n, const Term& term) {
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += 512) {
    std::int64_t end = std::min(n, begin + 512);
    T part = 0;
#pragma omp simd reduction(+ : part)
    for (std::int64_t i = begin; i < end; ++i) part += term(i);
    total += static_cast<double>(part);
  }
  return total;
}

// Where a line's largest element is infinite the shift by it would give NaN where the limit is a number.
template <class T>
T shift_of(T largest) {
  return std::isinf(largest) && largest < 0 ? T(0) : largest;
}

AxisSplit split_of(const Attrs& attrs, const Shape& shape, const char* name) {
  return split_axis(shape, normalize_axis(attrs.integer(0), shape.size(), name));
}

void infer(InferContext& c) {
  infer_same_float(c);
  normalize_axis(c.attrs().integer(0), c.shape(0).size(), c.op().name);
}

void forward_softmax(ForwardContext& c) {
  AxisSplit s = split_of(*c.attrs, c.in(0).shape, "softmax");
  dispatch_float(c.in(0).dtype, [&]<class T>() {
    for_each_line(s, [&](std::int64_t first, std::int64_t, auto line) {
      auto x = line(c.in(0).as<T>() + first), y = line(c.out(0).as<T>() + first);
      if (s.n == 0) return;
      T shift = shift_of(largest(x, s.n));
#pragma omp simd
      for (std::int64_t i = 0; i < s.n; ++i) y[i] = math::exp(x[i] - shift);
      T scale = static_cast<T>(1.0 / sum_line<T>(s.n, [&](std::int64_t i) { return y[i]; }));
#pragma omp simd
      for (std::int64_t i = 0; i < s.n; ++i) y[i] *= scale;
    });
  });
}

void backward_softmax(BackwardContext& c) {
  const TensorView& grad_out = c.grad_out(0);
  const TensorView& to = c.grad(0);
  AxisSplit s = split_of(*c.attrs, to.shape, "softmax");
  dispatch_float(to.dtype, [&]<class T>() {
    for_each_line(s, [&](std::int64_t first, std::int64_t, auto line) {
      auto g = line(grad_out.as<T>() + first), y = line(c.out(0).as<T>() + first), dx = line(to.as<T>() + first);
      T dot = static_cast<T>(sum_line<T>(s.n, [&](std::int64_t i) { return g[i] * y[i]; }));
#pragma omp simd
      for (std::int64_t i = 0; i < s.n; ++i) dx[i] = y[i] * (g[i] - dot);
    });
  });
}

template <class T, class L>
T log_sum_exp(const L& x, std::int64_t n) {
  if (n == 0) return -std::numeric_limits<T>::infinity();
  T shift = shift_of(largest(x, n));
  double total = sum_line<T>(n, [&](std::int64_t i) { return math::exp(x[i] - shift); });
  return static_cast<T>(static_cast<double>(shift) + std::log(total));
}

void forward_log_softmax(ForwardContext& c) {
  AxisSplit s = split_of(*c.attrs, c.in(0).shape, "log_softmax");
  dispatch_float(c.in(0).dtype, [&]<class T>() {
    for_each_line(s, [&](std::int64_t first, std::int64_t, auto line) {
      auto x = line(c.in(0).as<T>() + first), y = line(c.out(0).as<T>() + first);
      T total = log_sum_exp<T>(x, s.n);
#pragma omp simd
      for (std::int64_t i = 0; i < s.n; ++i) y[i] = x[i] - total;
    });
  });
}

void backward_log_softmax(BackwardContext& c) {
  const TensorView& grad_out = c.grad_out(0);
  const TensorView& to = c.grad(0);
  AxisSplit s = split_of(*c.attrs, to.shape, "log_softmax");
  dispatch_float(to.dtype, [&]<class T>() {
    for_each_line(s, [&](std::int64_t first, std::int64_t, auto line) {
      auto g = line(grad_out.as<T>() + first), y = line(c.out(0).as<T>() + first), dx = line(to.as<T>() + first);
      T total = static_cast<T>(sum_line<T>(s.n, [&](std::int64_t i) { return g[i]; }));
#pragma omp simd
      for (std::int64_t i = 0; i < s.n; ++i) dx[i] = g[i] - math::exp(y[i]) * total;
    });
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
  AxisSplit s = split_of(*c.attrs, c.in(0).shape, "logsumexp");
  dispatch_float(c.in(0).dtype, [&]<class T>() {
    for_each_line(s, [&](std::int64_t first, std::int64_t number, auto line) {
      c.out(0).as<T>()[number] = log_sum_exp<T>(line(c.in(0).as<T>() + first), s.n);
    });
  });
}

void backward_logsumexp(BackwardContext& c) {
  const TensorView& to = c.grad(0);
  AxisSplit s = split_of(*c.attrs, to.shape, "logsumexp");
  dispatch_float(to.dtype, [&]<class T>() {
    for_each_line(s, [&](std::int64_t first, std::int64_t number, auto line) {
      auto x = line(c.in(0).as<T>() + first), dx = line(to.as<T>() + first);
      T g = c.grad_out(0).as<T>()[number], total = c.out(0).as<T>()[number];
#pragma omp simd
      for (std::int64_t i = 0; i < s.n; ++i) dx[i] = g * math::exp(x[i] - total);
    });
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
