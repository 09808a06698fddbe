// The op checks: what every op must pass, built in or a user's own. A row says how to apply the op; the columns run it.
//
//   CheckRow row{.op = "scale", .label = "a matrix", .build = [](CheckCase& c) -> CheckApply {
//                  auto x = c.leaf({3, 4});
//                  return [=](Tape& t) { return scale(t, x(t), 2.0); };
//                }};
//   for (const CheckFinding& finding : check_op(row).findings) std::puts(finding.text.c_str());
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/tape.h"

namespace reprise {

/// Random values of an operand: uniform in [lo, hi] (of their size only, signs kept, where `away` > 0: at least that
/// far from zero). Always numbers that f32 can hold, so that an f32 and an f64 case have the same operands.
struct CheckFill {
  double lo = -1, hi = 1;
  double away = 0;
};

/// An operand of a case, as rows use it: x(tape) is handed to the op. By default the leaf, input or state itself; in
/// some runs a value of the same bytes, whose memory the op may take over.
class CheckOperand {
 public:
  Arg operator()(Tape& tape) const;
  LeafRef leaf;  // null unless it wants a gradient
  Tensor tensor;
  std::shared_ptr<bool> as_value;
};

/// What the op gave: its differentiable and other outputs, none for a writer of state.
struct CheckOutputs {
  std::vector<Value> values;
  CheckOutputs() = default;
  CheckOutputs(Value value) : values{std::move(value)} {}                   // NOLINT: rows return what the op returns
  CheckOutputs(std::vector<Value> several) : values(std::move(several)) {}  // NOLINT
};
using CheckApply = std::function<CheckOutputs(Tape&)>;

/// One case under construction: the operands that a row's build function makes, of one float type.
class CheckCase {
 public:
  CheckCase(Memory& memory, DType dtype) : memory_(memory), dtype_(dtype) {}

  DType dtype() const { return dtype_; }
  Memory& memory() { return memory_; }
  /// An operand that wants a gradient.
  CheckOperand leaf(const Shape& shape, const CheckFill& fill = {});
  CheckOperand leaf(const Shape& shape, std::vector<double> values);
  CheckOperand leaf(const Shape& shape, std::initializer_list<double> values) {
    return leaf(shape, std::vector<double>(values));
  }
  /// An operand that wants none.
  CheckOperand input(const Shape& shape, const CheckFill& fill = {});
  CheckOperand input(const Shape& shape, std::vector<double> values);
  CheckOperand input(const Shape& shape, std::initializer_list<double> values) {
    return input(shape, std::vector<double>(values));
  }
  CheckOperand integers(const Shape& shape, std::vector<double> values, DType dtype = DType::i64);
  /// A storage that ops read and write; compared, mutated and watched by the columns.
  Tensor state(const Shape& shape, const CheckFill& fill = {});
  Tensor state(const Shape& shape, std::vector<double> values, DType dtype);
  Stream& stream();

  struct Item {
    std::string name;
    CheckOperand operand;
    bool is_state = false;
  };
  const std::vector<Item>& items() const { return items_; }
  const std::vector<std::unique_ptr<Stream>>& streams() const { return streams_; }
  /// From now on operands are handed over as values.
  void use_values(bool on) { *as_value_ = on; }

 private:
  CheckOperand add(Tensor tensor, bool leaf, bool state, std::vector<double> values);
  std::vector<double> random(std::int64_t count, const CheckFill& fill);

  Memory& memory_;
  DType dtype_;
  std::vector<Item> items_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::shared_ptr<bool> as_value_ = std::make_shared<bool>(false);
};

/// Numbers of all operands of a case in the order they were made; of all outputs, then all states.
using CheckNumbers = std::vector<std::vector<double>>;

enum CheckColumn : unsigned {
  kCheckValue = 1,        // f32 against f64, and f64 against the row's reference
  kCheckGradient = 2,     // f64 against central differences; each gradient wanted alone
  kCheckEffects = 4,      // guard: no undeclared read, write or draw
  kCheckDeterminism = 8,  // again, with another number of threads, and on memory taken over: the same bytes
  kCheckReplay = 16,      // in a segment, whole and region, all that it reads overwritten before the backward
  kCheckSpeed = 32,
  kCheckParity = 64,  // f32 by the chosen implementations against the portable ones: results, states, gradients
  kCheckAllButSpeed = 31 | kCheckParity,
};

struct CheckRow {
  std::string op;
  std::string label;
  std::function<CheckApply(CheckCase&)> build;
  /// Outputs, then final states, from the operands; may give fewer. Null: the f64 run alone is the reference.
  std::function<CheckNumbers(const CheckNumbers& operands)> reference = nullptr;
  double f32_relative = 1e-5, f32_absolute = 1e-6;
  double reference_relative = 1e-9, reference_absolute = 1e-12;
  double gradient_relative = 1e-6, gradient_absolute = 1e-8;
  unsigned columns = kCheckAllButSpeed;
  bool any_threads = true;        // the same bytes for every number of threads is promised
  bool straight_through = false;  // its gradient is defined as that of the identity, not as its derivative
  double ns_per_element = 0;      // speed: at most this for forward and backward, per element of operands and outputs
};

struct CheckFinding {
  std::string column;
  std::string text;  // "relu (a matrix), effects: [relu] writes bytes [0, 64) of input x, ... Add it to .updates."
};

struct CheckReport {
  std::vector<CheckFinding> findings;
  Mask wanted = 0;            // declared operands whose gradient was checked
  double ns_per_element = 0;  // measured, where the speed column ran
  bool ok() const { return findings.empty(); }
  std::string describe() const;
};

struct CheckOptions {
  unsigned columns = kCheckAllButSpeed | kCheckSpeed;  // those of them that the row has
  double speed_allowance = 1.0;                        // factor on ns_per_element, for slow machines
};

/// Runs the columns of one row. What the op throws becomes a finding.
CheckReport check_op(const CheckRow& row, const CheckOptions& options = {});

}  // namespace reprise
