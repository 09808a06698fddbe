#include "tools/conform/operators.h"

#include <algorithm>
#include <climits>
#include <span>

#include "ops/arithmetic.h"
#include "ops/batch_norm.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/matmul.h"
#include "ops/normalize.h"
#include "ops/reduce.h"
#include "ops/rows.h"
#include "ops/select.h"
#include "ops/shape_ops.h"
#include "ops/softmax.h"
#include "ops/unary.h"
#include "tools/conform/special_ops.h"

namespace reprise::conform {

Tensor constant_tensor(Tape& tape, DType dtype, const Shape& shape, const std::vector<double>& numbers) {
  Tensor tensor = make_tensor(tape.memory().allocator(), nullptr, dtype, shape, Category::data);
  tensor.assign_doubles(numbers);
  tensor.storage().mark_constant();
  return tensor;
}

Arg flat_rows(Tape& tape, Arg arg) {
  if (const Tensor* state = std::get_if<Tensor>(&arg.what()); state && state->contiguous()) {
    return state->with_view({state->size()}, {1}, state->offset());
  }
  return reshape(tape, std::move(arg), {-1});
}

namespace {

using Args = std::vector<Arg>;

bool is_number(const Arg& arg) { return std::holds_alternative<double>(arg.what()); }

/// Ops that want floating numbers take integers as such numbers.
Arg as_float(Tape& tape, Arg arg) {
  if (is_number(arg) || is_floating(arg.dtype())) return arg;
  return cast(tape, std::move(arg), tape.options().default_dtype);
}

/// Ops on tensors take a number as a scalar tensor.
Arg as_tensor(Tape& tape, Arg arg) {
  if (const double* number = std::get_if<double>(&arg.what()))
    return tape.constant(*number, tape.options().default_dtype);
  return arg;
}

template <Value (*Function)(Tape&, Arg)>
Value unary(Tape& tape, Args& in, const Statement&) {
  return Function(tape, as_float(tape, as_tensor(tape, in[0])));
}

template <Value (*Function)(Tape&, Arg)>
Value unary_any(Tape& tape, Args& in, const Statement&) {
  return Function(tape, as_tensor(tape, in[0]));
}

template <Value (*Function)(Tape&, Arg, Arg)>
Value binary(Tape& tape, Args& in, const Statement&) {
  return Function(tape, in[0], in[1]);
}

/// Integers are reduced as doubles and rounded once, at the end.
template <Value (*All)(Tape&, Arg, bool), Value (*Axis)(Tape&, Arg, std::int64_t, bool)>
Value reduction(Tape& tape, Args& in, const Statement& s) {
  Arg x = as_tensor(tape, in[0]);
  bool integers = !is_floating(x.dtype());
  if (integers) x = cast(tape, std::move(x), DType::f64);
  Value reduced = s.axis ? Axis(tape, x, *s.axis, s.keep) : All(tape, x, s.keep);
  DType dtype = tape.options().default_dtype;
  return integers && dtype != DType::f64 ? cast(tape, std::move(reduced), dtype) : reduced;
}

Value run_matmul(Tape& tape, Args& in, const Statement&) {
  Arg a = as_float(tape, as_tensor(tape, in[0])), b = as_float(tape, as_tensor(tape, in[1]));
  return matmul(tape, a, b);
}

Value run_reshape(Tape& tape, Args& in, const Statement& s) { return reshape(tape, as_tensor(tape, in[0]), s.shape); }
Value run_transpose(Tape& tape, Args& in, const Statement&) { return transpose(tape, as_tensor(tape, in[0])); }

/// The tape's op joins so many at once, the language any number.
Value joined(Tape& tape, Args parts, std::int64_t axis) {
  while (parts.size() > kMaxOperands) {
    Args fewer;
    for (std::size_t at = 0; at < parts.size(); at += kMaxOperands) {
      std::size_t count = std::min<std::size_t>(kMaxOperands, parts.size() - at);
      fewer.push_back(concat(tape, std::span<const Arg>(parts).subspan(at, count), axis));
    }
    parts = std::move(fewer);
  }
  return concat(tape, parts, axis);
}

Value run_concat(Tape& tape, Args& in, const Statement& s) {
  bool floating = false;
  for (Arg& arg : in) {
    arg = as_tensor(tape, arg);
    floating |= is_floating(arg.dtype());
  }
  if (floating) {
    for (Arg& arg : in) arg = as_float(tape, arg);
  }
  return joined(tape, std::move(in), s.axis.value_or(0));
}

Value run_gather(Tape& tape, Args& in, const Statement&) {
  Arg index = as_tensor(tape, in[1]);
  if (is_floating(index.dtype())) index = cast(tape, index, DType::i64);
  return gather_rows(tape, as_tensor(tape, in[0]), index);
}

/// Numbers whose last axis has none: normalised, they are what they are.
bool holds_nothing(const Arg& x) { return !x.shape().empty() && x.shape().back() == 0; }

Value run_softmax(Tape& tape, Args& in, const Statement&) {
  Arg x = as_float(tape, as_tensor(tape, in[0]));
  return holds_nothing(x) ? copy(tape, x) : softmax(tape, x);
}

Value run_layernorm(Tape& tape, Args& in, const Statement& s) {
  Arg x = as_float(tape, as_tensor(tape, in[0]));
  Shape shape = x.shape();
  if (shape.empty()) fail(ErrorKind::user, "[layernorm] expected at least one axis, got a scalar");
  if (holds_nothing(x)) return copy(tape, x);
  std::vector<double> ones(static_cast<std::size_t>(shape.back()), 1.0), zeros(ones.size(), 0.0);
  DType dtype = x.dtype();
  return layer_norm(tape, x, constant_tensor(tape, dtype, {shape.back()}, ones),
                    constant_tensor(tape, dtype, {shape.back()}, zeros), s.eps);
}

/// One row has no batch statistics to speak of in batch_norm; said with simple ops instead.
Value normalise_one_row(Tape& tape, const Arg& x, double eps) {
  Value centred = sub(tape, x, mean_axis(tape, x, 0, true));
  Value variance = mean_axis(tape, mul(tape, centred, centred), 0, true);
  return div(tape, centred, sqrt(tape, add(tape, variance, eps)));
}

/// Over axis 0: x seen as [rows, everything else], with running statistics that nobody looks at.
Value run_batchnorm(Tape& tape, Args& in, const Statement& s) {
  Arg x = as_float(tape, as_tensor(tape, in[0]));
  Shape shape = x.shape();
  if (shape.empty()) fail(ErrorKind::user, "[batchnorm] expected at least one axis, got a scalar");
  std::int64_t channels = 1;
  for (int i = 1; i < shape.size(); ++i) channels *= shape[i];
  if (shape[0] == 0) return copy(tape, x);  // no row, no statistics, and nothing that they would change
  if (shape[0] < 2 || channels == 0) return normalise_one_row(tape, x, s.eps);
  if (shape.size() != 2) x = reshape(tape, x, {shape[0], channels});
  DType dtype = x.dtype();
  std::vector<double> ones(static_cast<std::size_t>(channels), 1.0), zeros(ones.size(), 0.0);
  auto statistic = [&] {
    return make_tensor(tape.memory().allocator(), tape.memory().observer(), dtype, {channels}, Category::state, true);
  };
  Value y = batch_norm(tape, x, constant_tensor(tape, dtype, {channels}, ones),
                       constant_tensor(tape, dtype, {channels}, zeros), statistic(), statistic(), {.eps = s.eps});
  return shape.size() == 2 ? y : reshape(tape, y, shape);
}

Value run_where(Tape& tape, Args& in, const Statement&) { return where(tape, as_tensor(tape, in[0]), in[1], in[2]); }

Value run_cast(Tape& tape, Args& in, const Statement& s) {
  Arg x = as_tensor(tape, in[0]);
  if (s.to == "bf16") return round_bf16(tape, as_float(tape, x));
  if (s.to == "f32") return is_floating(x.dtype()) ? copy(tape, x) : cast(tape, x, tape.options().default_dtype);
  return is_floating(x.dtype()) ? cast(tape, x, DType::i64) : copy(tape, x);
}

/// Of integers too: as floats, neighbours above 2^24 would be ties.
Value run_argmax(Tape& tape, Args& in, const Statement&) { return argmax(tape, as_tensor(tape, in[0])); }
Value run_topk(Tape& tape, Args& in, const Statement& s) { return top_k(tape, as_tensor(tape, in[0]), s.k).indices; }

Value run_fail(Tape& tape, Args& in, const Statement&) { return fail_once(tape, as_tensor(tape, in[0])); }
Value run_unsteady(Tape& tape, Args& in, const Statement&) {
  return unsteady(tape, as_float(tape, as_tensor(tape, in[0])), as_float(tape, as_tensor(tape, in[1])));
}

const std::vector<OpRule>& op_rules() {
  static const std::vector<const char*> none, reduce = {"axis", "keep"}, eps = {"eps"};
  static const std::vector<OpRule> rules = {
      {"add", 2, 2, none, binary<add>},
      {"sub", 2, 2, none, binary<sub>},
      {"mul", 2, 2, none, binary<mul>},
      {"div", 2, 2, none, binary<div>},
      {"mod", 2, 2, none, binary<mod>},
      {"neg", 1, 1, none, unary_any<neg>},
      {"sin", 1, 1, none, unary<sin>},
      {"cos", 1, 1, none, unary<cos>},
      {"exp", 1, 1, none, unary<exp>},
      {"log", 1, 1, none, unary<log>},
      {"sqrt", 1, 1, none, unary<sqrt>},
      {"tanh", 1, 1, none, unary<tanh>},
      {"relu", 1, 1, none, unary<relu>},
      {"abs", 1, 1, none, unary_any<abs>},
      {"round", 1, 1, none, unary<round>},
      {"stop", 1, 1, none, unary_any<stop_gradient>},
      {"matmul", 2, 2, none, run_matmul},
      {"sum", 1, 1, reduce, reduction<sum, sum_axis>},
      {"mean", 1, 1, reduce, reduction<mean, mean_axis>},
      {"max", 1, 1, reduce, reduction<max, max_axis>},
      {"reshape", 1, 1, {"shape"}, run_reshape},
      {"transpose", 1, 1, none, run_transpose},
      {"concat", 1, INT_MAX, {"axis"}, run_concat},
      {"gather", 2, 2, none, run_gather},
      {"softmax", 1, 1, eps, run_softmax},
      {"layernorm", 1, 1, eps, run_layernorm},
      {"batchnorm", 1, 1, eps, run_batchnorm},
      {"where", 3, 3, none, run_where},
      {"cast", 1, 1, {"to"}, run_cast},
      {"argmax", 1, 1, none, run_argmax},
      {"topk", 1, 1, {"k"}, run_topk},
      {"less", 2, 2, none, binary<less>},
      {"greater", 2, 2, none, binary<greater>},
      {"equal", 2, 2, none, binary<equal>},
      {"unsteady", 2, 2, none, run_unsteady},
      {"fail", 1, 1, none, run_fail},
  };
  return rules;
}

}  // namespace

const OpRule* find_op_rule(const std::string& name) {
  const auto& rules = op_rules();
  auto at = std::find_if(rules.begin(), rules.end(), [&](const OpRule& rule) { return name == rule.name; });
  return at == rules.end() ? nullptr : &*at;
}

}  // namespace reprise::conform
