#include "recompute/op_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>

#include "autograd/gradient_check.h"
#include "core/error.h"
#include "core/parallel.h"
#include "ops/implementation.h"
#include "recompute/op_check_run.h"

namespace reprise {

namespace {

using check::Bytes;
using check::CaseRun;
using check::Outcome;
using check::RunOptions;

Outcome run(const CheckRow& row, DType dtype, const RunOptions& options = {}) {
  return CaseRun(row, dtype, options).run();
}

/// The first entry of `a` and `b` that differs; empty when none does.
std::string first_difference(const std::vector<std::pair<std::string, Bytes>>& a,
                             const std::vector<std::pair<std::string, Bytes>>& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].second != b[i].second) return a[i].first;
  }
  return a.size() == b.size() ? "" : "their number";
}

struct PutBackThreads {
  int threads = thread_count();
  ~PutBackThreads() { set_thread_count(threads); }
};

/// Processor time of this thread: other programs on the machine do not count.
double thread_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

class Columns {
 public:
  Columns(const CheckRow& row, const CheckOptions& options) : row_(row), options_(options) {}

  CheckReport run_all() {
    if (!row_.build) {
      name_ = "row";
      found("expected a function .build that makes operands and applies the op, got none");
      return std::move(report_);
    }
    column(kCheckValue, "value", [&] { value(); });
    column(kCheckGradient, "gradient", [&] { gradient(); });
    column(kCheckEffects, "effects", [&] { effects(); });
    column(kCheckDeterminism, "determinism", [&] { determinism(); });
    column(kCheckReplay, "replay", [&] { replay(); });
    column(kCheckParity, "parity", [&] { parity(); });
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

  void compare_numbers(const CheckNumbers& got, const CheckNumbers& expected, double relative, double absolute,
                       const char* what) {
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
      if (worst > 1)
        found("result {}, element {}: expected {:.9g} ({}), got {:.9g}", i, at, expected[i][at], what, got[i][at]);
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
    if (expected.empty() || expected.size() > f64.numbers.size())
      found("the row's reference gives {} results, the op {}", expected.size(), f64.numbers.size());
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
      if (item.operand.leaf)
        leaves.push_back(item.operand.leaf);
      else
        options.states.push_back(item.operand.tensor);
    }
    for (const auto& stream : differences.check_case().streams()) options.streams.push_back(stream.get());
    if (leaves.empty() || full.outputs.empty()) return;
    if (row_.straight_through) {
      straight_through();
    } else {
      std::function<Value(Tape&)> f = [&](Tape& tape) { return differences.loss(tape, nullptr); };
      GradientCheckResult result = check_gradient(differences.memory(), f, leaves, options);
      if (!result.ok) found("{}", result.describe());
    }
    if (const Op* op = find_op(row_.op); op && op->accumulates) accumulation(full);
    for (int l = 0; leaves.size() > 1 && l < static_cast<int>(leaves.size()); ++l) {
      Outcome alone = run(row_, DType::f64, {.only_leaf = l});
      if (alone.gradients.size() != full.gradients.size()) continue;
      if (alone.gradients[l].second != full.gradients[l].second) {
        found("the gradient of {} alone has other bytes than with all others wanted. Check .saves of that operand.",
              leaves[l]->name);
      }
    }
  }

  /// A formula that adds to its target: the op applied twice on one tape gives twice the gradient, give or take
  /// roundings.
  void accumulation(const Outcome& once) {
    Outcome twice = run(row_, DType::f64, {.twice = true});
    for (std::size_t i = 0; i < once.gradients.size(); ++i) {
      const auto& [name, bytes] = once.gradients[i];
      if (name.starts_with("output")) continue;
      for (std::size_t at = 0; at + sizeof(double) <= bytes.size(); at += sizeof(double)) {
        double a, b;
        std::memcpy(&a, bytes.data() + at, sizeof(a));
        std::memcpy(&b, twice.gradients[i].second.data() + at, sizeof(b));
        if (std::abs(2 * a - b) <= 1e-9 * (1 + std::abs(b))) continue;
        found(
            "the op applied twice: expected element {} of the gradient of {} to be {}, got {}. Where accumulates(i), "
            "add to grad(i).",
            at / sizeof(double), name, 2 * a, b);
        return;
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
        double expected = CaseRun::weight_element(0, i);
        if (gradient[i] == expected) continue;
        found("element {} of the gradient of a straight-through op: expected {}, got {}", i, expected, gradient[i]);
        return;
      }
    }
  }

  void effects() {
    const Op* op = find_op(row_.op);
    for (DType dtype : {DType::f32, DType::f64}) {
      Outcome guarded = run(row_, dtype, {.guard = true});
      // Freed memory is poisoned there, so that bytes read from it show.
      if (!op || !op->nondeterministic) require_same(run(row_, dtype), guarded, "under guard");
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
    PutBackThreads put_back;
    set_thread_count(1);
    Outcome first = run(row_, DType::f32);
    require_same(first, run(row_, DType::f32), "in a second run");
    require_same(first, run(row_, DType::f32, {.as_values = true}),
                 "when operands are values whose memory may be taken over");
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
        require_same(plain, values,
                     fmt::format("in a segment under {}, operands handed over as values", to_string(method)));
      }
    }
  }

  /// What a processor or a library chooses must not matter but for roundings; those of a gradient come from several
  /// sums. Where nothing has a choice the two runs are one and the same.
  void parity() {
    const Op* op = find_op(row_.op);
    if (op && op->nondeterministic) return;
    Outcome chosen = run(row_, DType::f32), portable;
    {
      PortableOnly only;
      portable = run(row_, DType::f32);
    }
    const char* what = "the portable implementation";
    compare_numbers(chosen.numbers, portable.numbers, 4 * row_.f32_relative, 4 * row_.f32_absolute, what);
    for (std::size_t i = 0; i < std::min(chosen.gradients.size(), portable.gradients.size()); ++i) {
      compare_numbers({floats(chosen.gradients[i].second)}, {floats(portable.gradients[i].second)},
                      std::max(1e-3, 4 * row_.f32_relative), std::max(1e-4, 4 * row_.f32_absolute),
                      (what + (", gradient of " + chosen.gradients[i].first)).c_str());
    }
  }

  static std::vector<double> floats(const Bytes& bytes) {
    std::vector<float> numbers(bytes.size() / sizeof(float));
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
    return {numbers.begin(), numbers.end()};
  }

  void speed() {
    PutBackThreads put_back;
    set_thread_count(1);
    double bound = row_.ns_per_element * options_.speed_allowance, best = HUGE_VAL;
    for (int attempt = 0; attempt < 4 && !(best <= bound); ++attempt) best = std::min(best, measure());
    report_.ns_per_element = best;
    if (row_.ns_per_element <= 0)
      found("expected a bound ns_per_element for the speed column, got none; measured {:.3g}", best);
    else if (best > bound)
      found("expected at most {:.3g} ns per element of processor time, got {:.3g}", bound, best);
  }

  /// Forward and backward, the best of eight rounds.
  double measure() {
    Memory memory;
    CheckCase c(memory, DType::f32);
    CheckApply apply = row_.build(c);
    std::int64_t elements = 0;
    for (const auto& item : c.items()) elements += item.operand.tensor.size();
    double best = HUGE_VAL;
    Tape tape(memory);
    for (int round = 0; round < 8; ++round) {
      std::int64_t all = elements;
      double start = thread_nanoseconds();
      CheckOutputs outputs = apply(tape);
      std::vector<Value> differentiable;
      for (const Value& value : outputs.values) {
        if (value.requires_grad()) differentiable.push_back(value);
      }
      if (!differentiable.empty()) tape.backward(differentiable);
      double ns = thread_nanoseconds() - start;
      for (const Value& value : outputs.values) all += element_count(value.shape());
      outputs.values.clear();
      differentiable.clear();
      tape.clear();
      best = std::min(best, ns / static_cast<double>(std::max<std::int64_t>(1, all)));
    }
    return best;
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
