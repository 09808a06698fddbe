#include "recompute/op_check.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>

#include "autograd/gradient_check.h"
#include "autograd/segment.h"
#include "core/error.h"
#include "core/parallel.h"
#include "ops/arithmetic.h"
#include "ops/cast.h"
#include "ops/reduce.h"
#include "recompute/methods.h"
#include "recompute/replay.h"

namespace reprise {

namespace {

using Bytes = std::vector<std::byte>;

struct RunOptions {
  std::optional<Method> method;  // in a segment under this method; none: no segment
  bool guard = false;
  bool mutate = false;           // overwrite all operands and states between forward and backward
  bool as_values = false;        // hand operands over as values
  bool probe_states = false;     // multiply states, before and after the op, with weights: their bytes become gradients
  int only_leaf = -1;            // the one leaf that wants a gradient
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

Bytes bytes_of(const Tensor& tensor) {
  const std::byte* from = tensor.storage().host_read() + tensor.offset() * size_of(tensor.dtype());
  return {from, from + tensor.bytes()};
}

/// One execution of a row's case, with a weight for each output (and probed state), whose gradient is what it met.
class CaseRun {
 public:
  CaseRun(const CheckRow& row, DType dtype, const RunOptions& options)
      : row_(row), options_(options), case_(memory_, dtype), apply_(row.build(case_)) {}

  CheckCase& check_case() { return case_; }
  Memory& memory() { return memory_; }

  /// The sum of all outputs times their weights; undefined without outputs.
  Value loss(Tape& tape, std::vector<Value>* outputs) {
    next_weight_ = 0;
    Value sum_so_far;
    if (options_.probe_states) probe_all(tape, sum_so_far);
    CheckOutputs given = apply_(tape);
    for (Value& value : given.values) meet(tape, Arg(value), sum_so_far);
    if (options_.probe_states) probe_all(tape, sum_so_far);
    if (outputs) *outputs = std::move(given.values);
    return sum_so_far;
  }

  Outcome run() {
    Outcome outcome;
    for (std::size_t i = 0, leaf = 0; i < case_.items().size(); ++i) {
      const LeafRef& each = case_.items()[i].operand.leaf;
      if (each) each->requires_grad = options_.only_leaf < 0 || static_cast<int>(leaf++) == options_.only_leaf;
    }
    TraceReplayer replayer;
    std::unique_ptr<SegmentPolicy> policy = options_.method ? make_policy(*options_.method) : nullptr;
    Tape tape(memory_, {.default_dtype = case_.dtype(), .guard = options_.guard});
    tape.set_policy(policy.get());
    tape.set_replayer(&replayer);
    for (const auto& item : case_.items()) tape.watch(item.operand.tensor.storage_ref());
    for (const auto& stream : case_.streams()) tape.watch(*stream);
    case_.use_values(options_.as_values);
    Value total;
    if (options_.method) {
      total = segment(tape, "checked", [&] { return loss(tape, nullptr); });
    } else {
      std::vector<Value> outputs;
      total = loss(tape, &outputs);
      note_outputs(outputs, outcome);
    }
    note_states(outcome);
    note_nodes(tape, outcome);
    if (options_.mutate) mutate();
    if (options_.backward && total.defined() && total.requires_grad()) backward(tape, total, outcome);
    return outcome;
  }

 private:
  /// sum += sum(value * weight). A weight is a leaf, so its gradient is the value's bytes.
  void meet(Tape& tape, Arg value, Value& sum_so_far) {
    if (element_count(value.shape()) == 0) return;
    if (value.dtype() != case_.dtype()) value = Arg(cast(tape, value, case_.dtype()));
    Shape shape = value.shape();
    Value term = sum(tape, mul(tape, std::move(value), Arg(weight(shape))));
    sum_so_far = sum_so_far.defined() ? add(tape, sum_so_far, term) : term;
  }

  void probe_all(Tape& tape, Value& sum_so_far) {
    for (const auto& item : case_.items()) {
      if (item.is_state) meet(tape, Arg(item.operand.tensor), sum_so_far);
    }
  }

  LeafRef weight(const Shape& shape) {
    if (next_weight_ == weights_.size()) {
      Tensor tensor = make_tensor(memory_.allocator(), memory_.observer(), case_.dtype(), shape, Category::parameters);
      std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = 0.5 + 0.25 * static_cast<double>((i * 7 + next_weight_ * 3) % 11);
      }
      tensor.assign_doubles(values);
      weights_.push_back(Leaf::create(fmt::format("output{}", next_weight_), tensor));
    }
    return weights_[next_weight_++];
  }

  void note_outputs(const std::vector<Value>& outputs, Outcome& outcome) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Tensor tensor = outputs[i].tensor();
      outcome.numbers.push_back(tensor.to_doubles());
      Bytes packed(outcome.numbers.back().size() * sizeof(double));
      if (!packed.empty()) std::memcpy(packed.data(), outcome.numbers.back().data(), packed.size());
      outcome.outputs.emplace_back(fmt::format("output {}", i), std::move(packed));
    }
  }

  void note_states(Outcome& outcome) {
    for (const auto& item : case_.items()) {
      outcome.states.emplace_back(item.name, bytes_of(item.operand.tensor));
      if (item.is_state) outcome.numbers.push_back(item.operand.tensor.to_doubles());
    }
  }

  void note_nodes(const Tape& tape, Outcome& outcome) {
    for (const NodeRecord& node : tape.data().nodes) {
      if (row_.op != node.op->name) continue;
      outcome.applied = true;
      int inputs = node.op->input_count();
      for (int i = 0; i < node.inputs + node.updates; ++i) {
        int declared = i >= node.inputs ? inputs + i - node.inputs : std::min(i, inputs - 1);
        outcome.wanted |= (node.wanted >> i & 1) << declared;
      }
    }
  }

  /// Every operand gets other numbers; integers the same ones in another order, so that they stay valid indices.
  void mutate() {
    for (const auto& item : case_.items()) {
      std::vector<double> values = item.operand.tensor.to_doubles();
      std::reverse(values.begin(), values.end());
      if (is_floating(item.operand.tensor.dtype())) {
        for (double& value : values) value = value * 0.75 + 0.125;
      }
      item.operand.tensor.assign_doubles(values, "mutation");
    }
    for (const auto& stream : case_.streams()) stream->position += 17;
  }

  void backward(Tape& tape, const Value& total, Outcome& outcome) {
    std::vector<Bytes> before;
    std::vector<std::uint64_t> positions;
    for (const auto& item : case_.items()) before.push_back(bytes_of(item.operand.tensor));
    for (const auto& stream : case_.streams()) positions.push_back(stream->position);
    tape.backward(total);
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (bytes_of(case_.items()[i].operand.tensor) != before[i]) outcome.disturbed = case_.items()[i].name;
    }
    for (std::size_t i = 0; i < positions.size(); ++i) {
      if (case_.streams()[i]->position != positions[i]) outcome.disturbed = case_.streams()[i]->name;
    }
    auto note = [&](const LeafRef& leaf) {
      bool empty = leaf->grad_empty || !leaf->grad.defined();
      outcome.gradients.emplace_back(leaf->name, empty ? Bytes() : bytes_of(leaf->grad));
    };
    for (const auto& item : case_.items()) {
      if (item.operand.leaf) note(item.operand.leaf);
    }
    for (const LeafRef& leaf : weights_) note(leaf);
  }

  const CheckRow& row_;
  RunOptions options_;
  Memory memory_;
  CheckCase case_;
  CheckApply apply_;
  std::vector<LeafRef> weights_;
  std::size_t next_weight_ = 0;
};

Outcome run(const CheckRow& row, DType dtype, const RunOptions& options = {}) { return CaseRun(row, dtype, options).run(); }

/// The first entry of `a` and `b` that differs; empty when none does.
std::string first_difference(const std::vector<std::pair<std::string, Bytes>>& a, const std::vector<std::pair<std::string, Bytes>>& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].second != b[i].second) return a[i].first;
  }
  return a.size() == b.size() ? "" : "their number";
}

class Columns {
 public:
  Columns(const CheckRow& row, const CheckOptions& options) : row_(row), options_(options) {}

  CheckReport run_all() {
    column(kCheckValue, "value", [&] { value(); });
    column(kCheckGradient, "gradient", [&] { gradient(); });
    column(kCheckEffects, "effects", [&] { effects(); });
    column(kCheckDeterminism, "determinism", [&] { determinism(); });
    column(kCheckReplay, "replay", [&] { replay(); });
    column(kCheckSpeed, "speed", [&] { speed(); });
    return std::move(report_);
  }

 private:
  template <class Body>
  void column(CheckColumn which, const char* name, const Body& body) {
    if (!(which & row_.columns & options_.columns)) return;
    name_ = name;
    try {
      body();
    } catch (const std::exception& error) {
      found("{}", error.what());
    }
  }

  template <class... Args>
  void found(fmt::format_string<Args...> format, Args&&... args) {
    std::string text = fmt::format(format, std::forward<Args>(args)...);
    report_.findings.push_back({name_, fmt::format("{} ({}), {}: {}", row_.op, row_.label, name_, text)});
  }

  void compare_numbers(const CheckNumbers& got, const CheckNumbers& expected, double relative, double absolute, const char* what) {
    for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
      if (got[i].size() != expected[i].size()) {
        found("result {}: expected {} elements ({}), got {}", i, expected[i].size(), what, got[i].size());
        continue;
      }
      double worst = 0;
      std::size_t at = 0;
      for (std::size_t k = 0; k < got[i].size(); ++k) {
        double g = got[i][k], e = expected[i][k];
        if (g == e || (std::isnan(g) && std::isnan(e))) continue;
        double excess = std::abs(g - e) / (absolute + relative * std::abs(e));
        if (!(excess <= worst)) worst = std::isnan(excess) ? HUGE_VAL : excess, at = k;
      }
      if (worst > 1) found("result {}, element {}: expected {:.9g} ({}), got {:.9g}", i, at, expected[i][at], what, got[i][at]);
    }
  }

  void value() {
    RunOptions forward{.backward = false};
    Outcome f32 = run(row_, DType::f32, forward), f64 = run(row_, DType::f64, forward);
    if (!f32.applied) found("the row does not apply the op {}", row_.op);
    compare_numbers(f32.numbers, f64.numbers, row_.f32_relative, row_.f32_absolute, "the f64 run");
    if (!row_.reference) return;
    Memory memory;
    CheckCase plain(memory, DType::f64);
    row_.build(plain);
    CheckNumbers operands;
    for (const auto& item : plain.items()) operands.push_back(item.operand.tensor.to_doubles());
    CheckNumbers expected = row_.reference(operands);
    if (expected.empty() || expected.size() > f64.numbers.size()) found("the row's reference gives {} results, the op {}", expected.size(), f64.numbers.size());
    compare_numbers(f64.numbers, expected, row_.reference_relative, row_.reference_absolute, "the row's reference");
  }

  void gradient() {
    Outcome full = run(row_, DType::f64);
    report_.wanted = full.wanted;
    CaseRun differences(row_, DType::f64, {});
    std::vector<LeafRef> leaves;
    GradientCheckOptions options;
    options.relative = row_.gradient_relative;
    options.absolute = row_.gradient_absolute;
    options.tape.default_dtype = DType::f64;
    for (const auto& item : differences.check_case().items()) {
      if (item.operand.leaf) leaves.push_back(item.operand.leaf);
      else options.states.push_back(item.operand.tensor);
    }
    for (const auto& stream : differences.check_case().streams()) options.streams.push_back(stream.get());
    if (leaves.empty()) return;
    if (row_.straight_through) {
      straight_through();
    } else {
      std::function<Value(Tape&)> f = [&](Tape& tape) { return differences.loss(tape, nullptr); };
      GradientCheckResult result = check_gradient(differences.memory(), f, leaves, options);
      if (!result.ok) found("{}", result.describe());
    }
    for (int l = 0; leaves.size() > 1 && l < static_cast<int>(leaves.size()); ++l) {
      Outcome alone = run(row_, DType::f64, {.only_leaf = l});
      if (alone.gradients.size() != full.gradients.size()) continue;
      if (alone.gradients[l].second != full.gradients[l].second) {
        found("the gradient of {} alone has other bytes than with all others wanted. Check .saves of that operand.", leaves[l]->name);
      }
    }
  }

  /// The gradient of the first leaf must be that of the identity: the weights that `CaseRun` gives to its output.
  void straight_through() {
    for (DType dtype : {DType::f32, DType::f64}) {
      CaseRun once(row_, dtype, {});
      Outcome outcome = once.run();
      const LeafRef& leaf = once.check_case().items()[0].operand.leaf;
      std::vector<double> gradient = leaf->grad.defined() ? leaf->grad.to_doubles() : std::vector<double>();
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        double expected = 0.5 + 0.25 * static_cast<double>(i * 7 % 11);
        if (gradient[i] == expected) continue;
        found("element {} of the gradient of a straight-through op: expected {}, got {}", i, expected, gradient[i]);
        return;
      }
    }
  }

  void effects() {
    for (DType dtype : {DType::f32, DType::f64}) {
      run(row_, dtype, {.guard = true});
      run(row_, dtype, {.guard = true, .as_values = true});
      run(row_, dtype, {.method = Method::region, .guard = true, .mutate = true, .probe_states = true});
    }
  }

  void require_same(const Outcome& a, const Outcome& b, const std::string& when) {
    std::string output = first_difference(a.outputs, b.outputs);
    std::string state = first_difference(a.states, b.states);
    std::string gradient = first_difference(a.gradients, b.gradients);
    if (!output.empty()) found("{} has other bytes {}", output, when);
    if (!state.empty()) found("{} has other bytes after the forward {}", state, when);
    if (!gradient.empty()) found("the gradient of {} has other bytes {}", gradient, when);
    if (!b.disturbed.empty()) found("the backward moved {} {}", b.disturbed, when);
  }

  void determinism() {
    const Op* op = find_op(row_.op);
    if (op && op->nondeterministic) return;
    struct PutBack {
      int threads = thread_count();
      ~PutBack() { set_thread_count(threads); }
    } put_back;
    set_thread_count(1);
    Outcome first = run(row_, DType::f32);
    require_same(first, run(row_, DType::f32), "in a second run");
    require_same(first, run(row_, DType::f32, {.as_values = true}), "when operands are values whose memory may be taken over");
    set_thread_count(2);
    Outcome two = run(row_, DType::f32);
    require_same(two, run(row_, DType::f32), "in a second run with 2 threads");
    if (row_.any_threads) require_same(first, two, "with 2 threads instead of 1");
  }

  void replay() {
    for (DType dtype : {DType::f32, DType::f64}) {
      Outcome plain = run(row_, dtype, {.probe_states = true});
      plain.outputs.clear();
      Outcome mutated = run(row_, dtype, {.mutate = true, .probe_states = true});
      mutated.outputs.clear();
      require_same(plain, mutated, "without segments, after all operands were overwritten");
      for (Method method : {Method::retain, Method::whole, Method::region}) {
        Outcome replayed = run(row_, dtype, {.method = method, .mutate = true, .probe_states = true});
        require_same(plain, replayed, fmt::format("in a segment under {}", to_string(method)));
        Outcome values = run(row_, dtype, {.method = method, .mutate = true, .as_values = true, .probe_states = true});
        require_same(plain, values, fmt::format("in a segment under {}, operands handed over as values", to_string(method)));
      }
    }
  }

  void speed() {
    using Clock = std::chrono::steady_clock;
    Memory memory;
    CheckCase c(memory, DType::f32);
    CheckApply apply = row_.build(c);
    std::int64_t elements = 0;
    for (const auto& item : c.items()) elements += item.operand.tensor.size();
    double best = HUGE_VAL;
    Tape tape(memory);
    for (int round = 0; round < 8; ++round) {
      std::int64_t all = elements;
      auto start = Clock::now();
      CheckOutputs outputs = apply(tape);
      std::vector<Value> differentiable;
      for (const Value& value : outputs.values) {
        if (value.requires_grad()) differentiable.push_back(value);
      }
      if (!differentiable.empty()) tape.backward(differentiable);
      double ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
      for (const Value& value : outputs.values) all += element_count(value.shape());
      outputs.values.clear();
      differentiable.clear();
      tape.clear();
      best = std::min(best, ns / static_cast<double>(std::max<std::int64_t>(1, all)));
    }
    report_.ns_per_element = best;
    if (row_.ns_per_element <= 0) found("expected a bound ns_per_element for the speed column, got none; measured {:.3g}", best);
    else if (best > row_.ns_per_element * options_.speed_allowance) {
      found("expected at most {:.3g} ns per element, got {:.3g}", row_.ns_per_element * options_.speed_allowance, best);
    }
  }

  const CheckRow& row_;
  const CheckOptions& options_;
  const char* name_ = "";
  CheckReport report_;
};

}  // namespace

std::string CheckReport::describe() const {
  std::string text;
  for (const CheckFinding& finding : findings) text += finding.text + "\n";
  return text;
}

CheckReport check_op(const CheckRow& row, const CheckOptions& options) { return Columns(row, options).run_all(); }

}  // namespace reprise
