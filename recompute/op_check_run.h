// One execution of the case of a check row: with or without a segment, guarded, mutated, with operands as values. Used
// by the columns of recompute/op_check.cpp only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recompute/methods.h"
#include "recompute/op_check.h"

namespace reprise::check {

using Bytes = std::vector<std::byte>;

struct RunOptions {
  std::optional<Method> method;  // in a segment under this method; none: no segment
  bool guard = false;
  bool mutate = false;        // overwrite all operands and states between forward and backward
  bool as_values = false;     // hand operands over as values
  bool probe_states = false;  // multiply states, before and after the op, with weights: their bytes become gradients
  bool twice = false;         // apply the op twice; for ops that keep no state
  int only_leaf = -1;         // the one leaf that wants a gradient
  bool backward = true;
};

/// What one run leaves: bytes by name, in a fixed order.
struct Outcome {
  CheckNumbers numbers;  // outputs, then states
  std::vector<std::pair<std::string, Bytes>> outputs, gradients, states;
  std::string disturbed;  // a state or stream that the backward moved
  Mask wanted = 0;
  bool applied = false;
};

/// One execution of a row's case, with a weight for each output (and probed state), whose gradient is what it met.
class CaseRun {
 public:
  CaseRun(const CheckRow& row, DType dtype, const RunOptions& options)
      : row_(row),
        options_(options),
        memory_({.poison_freed = options.guard}),
        case_(memory_, dtype),
        apply_(row.build(case_)) {
    memory_.preserver().set_guard(options.guard);
  }

  CheckCase& check_case() { return case_; }
  Memory& memory() { return memory_; }

  /// The sum of all outputs times their weights; undefined without outputs.
  Value loss(Tape& tape, std::vector<Value>* outputs);
  Outcome run();
  /// Element i of the weight of output `index`.
  static double weight_element(std::size_t index, std::size_t i) {
    return 0.5 + 0.25 * static_cast<double>((i * 7 + index * 3) % 11);
  }

 private:
  void meet(Tape& tape, Arg value, Value& sum_so_far);
  void probe_all(Tape& tape, Value& sum_so_far);
  LeafRef weight(const Shape& shape);
  void choose_leaves();
  void note_outputs(const std::vector<Value>& outputs, Outcome& outcome);
  void note_states(Outcome& outcome);
  void note_nodes(const Tape& tape, Outcome& outcome);
  void mutate();
  void backward(Tape& tape, const Value& total, Outcome& outcome);

  const CheckRow& row_;
  RunOptions options_;
  Memory memory_;
  CheckCase case_;
  CheckApply apply_;
  std::vector<LeafRef> weights_;
  std::size_t next_weight_ = 0;
};

}  // namespace reprise::check
