// Comparisons: 0 or 1 in a float type, no gradient. They replay bit by bit, so their results need not be kept.
#include "ops/compare.h"

#include "ops/broadcast.h"
#include "ops/elementwise_functors.h"
#include "ops/kernels.h"
#include "ops/operands.h"

namespace reprise {

namespace {

namespace fn = functors;

void infer(InferContext& c) {
  require_number(c, 0);
  require_same_dtype(c, 0, 1);
  auto dtype = static_cast<DType>(c.attrs().integer(0));
  if (!is_compute_float(dtype) || (is_compute_float(c.dtype(0)) && dtype != c.dtype(0))) {
    fail(ErrorKind::user, "[{}] expected a result in the operands' float type (f32 or f64 for integers), got {} for {}",
         c.op().name, to_string(dtype), to_string(c.dtype(0)));
  }
  c.result(0, dtype, require_broadcast(c, 0, 1));
}

template <class F>
void forward(ForwardContext& c) {
  dispatch_number(c.in(0).dtype, [&]<class T>() {
    if constexpr (std::is_floating_point_v<T>) {
      map_elements<T, T, T>(F{}, c.out(0), c.in(0), c.in(1));
    } else {
      dispatch_float(c.out(0).dtype, [&]<class O>() {
        map_elements<O, T, T>([](T a, T b) { return static_cast<O>(F{}(a, b)); }, c.out(0), c.in(0), c.in(1));
      });
    }
  });
}

template <class F>
Op comparison(const char* name, const char* about) {
  return Op{.name = name,
            .about = about,
            .inputs = {"a", "b"},
            .outputs = {"out"},
            .attrs = {{"dtype", AttrKind::integer}},
            .strided = true,
            .infer = infer,
            .forward = forward<F>};
}

Value apply(Tape& tape, const Op& op, Arg a, Arg b) {
  match_dtypes(tape, a, b);
  DType dtype = is_floating(a.dtype()) ? a.dtype() : tape.options().default_dtype;
  return tape.apply_one(op, {std::move(a), std::move(b)}, Attrs().add(static_cast<int>(dtype)));
}

}  // namespace

const Op kLess = comparison<fn::Less>("less", "1 where a < b, else 0; no gradient");
const Op kLessEqual = comparison<fn::LessEqual>("less_equal", "1 where a <= b, else 0; no gradient");
const Op kGreater = comparison<fn::Greater>("greater", "1 where a > b, else 0; no gradient");
const Op kGreaterEqual = comparison<fn::GreaterEqual>("greater_equal", "1 where a >= b, else 0; no gradient");
const Op kEqual = comparison<fn::Equal>("equal", "1 where a = b, else 0; no gradient");
const Op kNotEqual = comparison<fn::NotEqual>("not_equal", "1 where a differs from b, else 0; no gradient");

Value less(Tape& tape, Arg a, Arg b) { return apply(tape, kLess, std::move(a), std::move(b)); }
Value less_equal(Tape& tape, Arg a, Arg b) { return apply(tape, kLessEqual, std::move(a), std::move(b)); }
Value greater(Tape& tape, Arg a, Arg b) { return apply(tape, kGreater, std::move(a), std::move(b)); }
Value greater_equal(Tape& tape, Arg a, Arg b) { return apply(tape, kGreaterEqual, std::move(a), std::move(b)); }
Value equal(Tape& tape, Arg a, Arg b) { return apply(tape, kEqual, std::move(a), std::move(b)); }
Value not_equal(Tape& tape, Arg a, Arg b) { return apply(tape, kNotEqual, std::move(a), std::move(b)); }

void register_compare_ops() {
  for (const Op* op : {&kLess, &kLessEqual, &kGreater, &kGreaterEqual, &kEqual, &kNotEqual}) register_op(*op);
}

}  // namespace reprise
