// Gradients that take over the memory of what their formula saved (Op::saved_reuse): the same bytes as in memory of
// their own, less memory by the block, as much as a dry trace says, and never where anybody may still ask for the
// bytes.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "lying_ops.h"
#include "ops/arithmetic.h"
#include "ops/batch_norm.h"
#include "ops/conv2d.h"
#include "ops/group_norm.h"
#include "ops/loss.h"
#include "ops/normalize.h"
#include "ops/reduce.h"
#include "ops/registry.h"
#include "ops/shape_ops.h"
#include "ops/unary.h"
#include "recompute/op_check.h"
#include "tests/support/errors.h"
#include "tests/support/lab.h"

namespace reprise {
namespace {

using testing::Lab;

/// Where the gradients of one op's formula were put.
class WhereGradients final : public TapeObserver {
 public:
  explicit WhereGradients(const char* op) : op_(op) {}
  void after_backward(const Tape& tape, std::uint32_t node, std::span<const TensorView> gradients) override {
    if (op_ != tape.data().nodes[node].op->name) return;
    for (const TensorView& gradient : gradients) places.insert(gradient.data);
  }
  std::set<const std::byte*> places;

 private:
  std::string op_;
};

std::vector<double> numbers(std::int64_t count, int first = 1) {
  std::vector<double> list;
  for (std::int64_t i = 0; i < count; ++i) list.push_back(0.25 + 0.125 * static_cast<double>((i * 5 + first) % 13));
  return list;
}

const std::byte* place_of(const Value& value) { return value.tensor().view().data; }

/// One op of x [2, 4, 4, 16] and what else it wants, which the program makes once.
struct Parts {
  explicit Parts(Lab& lab)
      : gamma(lab.leaf({16}, numbers(16), "gamma")),
        beta(lab.leaf({16}, numbers(16, 4), "beta")),
        weight(lab.leaf({16, 16, 3, 3}, numbers(16 * 16 * 9, 3), "weight")),
        mean(lab.state({16}, numbers(16, 2))),
        variance(lab.state({16}, numbers(16, 6))) {}
  LeafRef gamma, beta, weight;
  Tensor mean, variance;
};
using Apply = std::function<Value(Tape&, Value, const Parts&)>;

const std::vector<std::pair<const char*, Apply>>& cases() {
  auto norm = [](bool training, int form) -> Apply {
    return [=](Tape& t, Value x, const Parts& p) {
      BatchNormOptions o{.training = training};
      if (form == 0) return batch_norm(t, std::move(x), p.gamma, p.beta, p.mean, p.variance, o);
      if (form == 1) return batch_norm_relu(t, std::move(x), p.gamma, p.beta, p.mean, p.variance, o);
      Value residual = mul(t, x, 0.5);
      return batch_norm_add_relu(t, std::move(x), std::move(residual), p.gamma, p.beta, p.mean, p.variance, o);
    };
  };
  auto unary = [](Value (*op)(Tape&, Arg)) -> Apply {
    return [op](Tape& t, Value x, const Parts&) { return op(t, std::move(x)); };
  };
  static const std::vector<std::pair<const char*, Apply>> list{
      {"batch_norm", norm(true, 0)},
      {"batch_norm_relu", norm(true, 1)},
      {"batch_norm_add_relu", norm(true, 2)},
      {"batch_norm_eval", norm(false, 0)},
      {"batch_norm_eval_relu", norm(false, 1)},
      {"batch_norm_eval_add_relu", norm(false, 2)},
      {"group_norm", [](Tape& t, Value x, const Parts& p) { return group_norm(t, std::move(x), 4, p.gamma, p.beta); }},
      {"layer_norm", [](Tape& t, Value x, const Parts& p) { return layer_norm(t, std::move(x), p.gamma, p.beta); }},
      {"l2_normalize", [](Tape& t, Value x, const Parts&) { return l2_normalize(t, std::move(x)); }},
      {"conv2d",
       [](Tape& t, Value x, const Parts& p) { return conv2d(t, std::move(x), p.weight, {}, {.padding = 1}); }},
      {"clamp", [](Tape& t, Value x, const Parts&) { return clamp(t, std::move(x), 0.5, 1.5); }},
      {"abs", unary(abs)},
      {"exp", unary(exp)},
      {"log", unary(log)},
      {"sqrt", unary(sqrt)},
      {"sin", unary(sin)},
      {"cos", unary(cos)},
      {"tanh", unary(tanh)},
      {"sigmoid", unary(sigmoid)},
      {"relu", unary(relu)},
      {"gelu", unary(gelu)},
      {"silu", unary(silu)},
  };
  return list;
}

struct Found {
  std::vector<std::vector<double>> gradients;
  bool taken = false;       // some gradient of the op lies where the value that it saved was
  bool held_stands = true;  // what the program held has the bytes that it had
};

/// The op between values of this program. Its output gradient is shared with another value's, so that no gradient can
/// take that over; `hold`: the program keeps handles of what the op saves.
Found run(const char* name, const Apply& apply, DType dtype, bool hold, Method method = Method::retain) {
  Lab lab(method, dtype);
  Parts parts(lab);
  LeafRef leaf = lab.leaf({2, 4, 4, 16}, numbers(512), "x");
  WhereGradients where(name);
  lab.tape->set_observer(&where);
  Tape& t = *lab.tape;
  Value other = mul(t, leaf, 0.25), held_x, held_y;
  std::set<const std::byte*> saved;
  Value total = segment(t, "part", [&] {
    Value x = mul(t, leaf, 3.0);
    if (hold) held_x = x;
    saved.insert(place_of(x));
    Value y = apply(t, std::move(x), parts);
    if (hold) held_y = y;
    saved.insert(place_of(y));
    return sum(t, mul(t, add(t, std::move(y), std::move(other)), 1.5));
  });
  Found found;
  std::vector<double> before;
  if (hold) before = held_x.tensor().to_doubles();
  t.backward(total);
  if (hold) found.held_stands = before == held_x.tensor().to_doubles();
  for (const std::byte* place : where.places) found.taken |= place && saved.count(place) > 0;
  for (const LeafRef& each : {leaf, parts.gamma, parts.beta, parts.weight})
    found.gradients.push_back(Lab::gradient(each));
  return found;
}

TEST(SavedReuse, AGradientInSavedMemoryHasTheBytesOfOneInMemoryOfItsOwn) {
  for (const auto& [name, apply] : cases()) {
    for (DType dtype : {DType::f32, DType::f64}) {
      Found own = run(name, apply, dtype, true), over = run(name, apply, dtype, false);
      EXPECT_EQ(own.gradients, over.gradients) << name;
      EXPECT_FALSE(own.taken) << name;
      EXPECT_TRUE(own.held_stands) << name;
      EXPECT_TRUE(over.taken) << name;
    }
  }
}

TEST(SavedReuse, AReplayGivesTheSameBytes) {
  for (const auto& [name, apply] : cases()) {
    Found kept = run(name, apply, DType::f32, true);
    for (Method method : {Method::whole, Method::region})
      EXPECT_EQ(run(name, apply, DType::f32, false, method).gradients, kept.gradients) << name;
  }
}

TEST(SavedReuse, EveryOpThatDeclaresItIsTriedHere) {
  register_builtin_ops();
  std::set<std::string> tried{"softmax_cross_entropy"};  // below: its result is a number
  for (const auto& [name, apply] : cases()) tried.insert(name);
  for (const Op* op : registered_ops()) {
    EXPECT_EQ(!op->saved_reuse.empty(), tried.count(op->name) > 0) << op->name;
  }
}

TEST(SavedReuse, LogitsBecomeTheirGradient) {
  auto go = [](bool hold) {
    Lab lab(Method::retain, DType::f32);
    LeafRef leaf = lab.leaf({64, 96}, numbers(64 * 96), "x");
    Tensor labels = lab.indices(std::vector<double>(64, 7));
    Value logits = mul(*lab.tape, leaf, 2.0), held;
    if (hold) held = logits;
    Value loss = softmax_cross_entropy(*lab.tape, std::move(logits), labels);
    std::int64_t before = lab.memory.meter().live();
    lab.memory.meter().reset_peak();
    lab.tape->backward(loss);
    return std::pair(Lab::gradient(leaf), lab.memory.meter().peak() - before);
  };
  auto own = go(true), over = go(false);
  EXPECT_EQ(own.first, over.first);
  EXPECT_EQ(own.second - over.second, 64 * 96 * 4);
}

/// Of a normalised residual sum: in its backward dy, dx, the residual's gradient, x and y would be there at once.
std::pair<std::int64_t, std::vector<double>> residual_step(bool dry, bool hold, Method method) {
  Lab lab(method, DType::f32, 1, dry);
  Parts parts(lab);
  LeafRef leaf = lab.leaf({256, 16}, numbers(256 * 16), "x");
  Tape& t = *lab.tape;
  lab.memory.meter().reset_peak();
  Value held;
  Value total = segment(t, "block", [&] {
    Value x = mul(t, leaf, 3.0), residual = mul(t, leaf, 2.0);
    if (hold) held = x;
    return sum(t, batch_norm_add_relu(t, std::move(x), std::move(residual), parts.gamma, parts.beta, parts.mean,
                                      parts.variance));
  });
  t.backward(total);
  return {lab.memory.meter().peak(), dry ? std::vector<double>() : Lab::gradient(leaf)};
}

TEST(SavedReuse, ThePeakFallsByTheBlockAndADryTraceSaysSo) {
  auto own = residual_step(false, true, Method::retain), over = residual_step(false, false, Method::retain);
  EXPECT_EQ(own.second, over.second);
  EXPECT_EQ(own.first - over.first, 256 * 16 * 4);
  for (Method method : {Method::retain, Method::whole, Method::region}) {
    for (bool hold : {false, true})
      EXPECT_EQ(residual_step(true, hold, method).first, residual_step(false, hold, method).first);
  }
}

TEST(SavedReuse, ViewsOtherReadersAndKeepAreLeftTheirBytes) {
  Lab lab(Method::retain, DType::f64);
  Tape& t = *lab.tape;
  LeafRef leaf = lab.leaf({4, 4}, numbers(16), "x");
  Value view;
  auto program = [&](int readers) {
    Value x = mul(t, leaf, 3.0), z = mul(t, leaf, 0.5);
    view = reshape(t, x, {16});
    Value y = add(t, silu(t, x), z);
    for (int i = 1; i < readers; ++i) y = add(t, y, sin(t, x));
    return sum(t, y);
  };
  // A view that the program holds.
  Value total = program(1);
  std::vector<double> seen = view.tensor().to_doubles();
  t.backward(total);
  EXPECT_EQ(view.tensor().to_doubles(), seen);
  // Two more readers, held and not, and twice the same with `keep`.
  auto gradient = [&](bool hold, bool keep) {
    t.clear();
    leaf->clear_grad();
    Value root = program(3);
    if (!hold) view.reset();
    if (keep) {
      t.backward(root, true);
      leaf->clear_grad();
    }
    t.backward(root);
    return Lab::gradient(leaf);
  };
  EXPECT_EQ(gradient(false, false), gradient(true, false));
  EXPECT_EQ(gradient(false, true), gradient(true, false));
}

// ---- ops that do not keep the promise

/// y[i] = x[i] x[n - 1 - i], whose formula reads elements of x again after their places have been written.
Op reads_again() {
  Op op = lying::op_named("reads_again");
  op.saves = {{"x", {in("x")}}};
  op.saved_reuse = {{in("x"), "x"}};
  op.fails_first = true;
  op.forward = [](ForwardContext& c) {
    dispatch_float(c.in(0).dtype, [&]<class T>() {
      for (std::int64_t i = 0, n = c.in(0).size(); i < n; ++i)
        c.out(0).as<T>()[i] = c.in(0).as<T>()[i] * c.in(0).as<T>()[n - 1 - i];
    });
  };
  op.backward = [](BackwardContext& c) {
    dispatch_float(c.in(0).dtype, [&]<class T>() {
      for (std::int64_t i = 0, n = c.in(0).size(); i < n; ++i) {
        const T *x = c.in(0).as<T>(), *dy = c.grad_out(0).as<T>();
        c.grad(0).as<T>()[i] = (dy[i] + dy[n - 1 - i]) * x[n - 1 - i];
      }
    });
  };
  return op;
}
const Op kReadsAgain = reads_again();

TEST(SavedReuse, AnOpThatReadsAgainIsFoundByItsCheck) {
  register_builtin_ops();
  CheckRow row;
  row.op = "reads_again";
  row.label = "a vector";
  row.build = [](CheckCase& c) -> CheckApply {
    auto x = c.leaf({6}, CheckFill{0.5, 2});
    return [x](Tape& t) { return t.apply_one(kReadsAgain, {x(t)}); };
  };
  CheckReport report = check_op(row);
  EXPECT_NE(report.describe().find("when operands are values whose memory may be taken over"), std::string::npos)
      << report.describe();
}

TEST(SavedReuse, AFormulaThatFailsHalfWayIsNotRunAgain) {
  register_builtin_ops();
  Op op = lying::op_named("half");
  op.saves = {{"x", {in("x")}}};
  op.saved_reuse = {{in("x"), "x"}};
  op.fails_first = true;
  op.backward = [](BackwardContext& c) {
    c.grad(0).as<double>()[0] = 1;
    throw std::runtime_error("half-way");
  };
  Lab lab(Method::retain, DType::f64);
  LeafRef leaf = lab.leaf({4}, numbers(4), "x");
  Value total = sum(*lab.tape, lab.tape->apply_one(op, {mul(*lab.tape, leaf, 3.0)}));
  EXPECT_THROW(lab.tape->backward(total), std::runtime_error);
  std::string text = testing::error_of_kind(ErrorKind::internal, [&] { lab.tape->backward(total); });
  EXPECT_NE(text.find(".fails_first"), std::string::npos) << text;
  lab.tape->clear();
}

TEST(SavedReuse, AContractThatNamesWhatIsNotSavedIsRefused) {
  Op op = lying::op_named("saves_nothing");
  op.saved_reuse = {{in("x"), "x"}};
  std::string text = testing::error_of_kind(ErrorKind::internal, [&] { info_of(op); });
  EXPECT_NE(text.find(".saved_reuse"), std::string::npos) << text;
}

}  // namespace
}  // namespace reprise
