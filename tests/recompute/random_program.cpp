#include "tests/recompute/random_program.h"

#include <fmt/format.h>

#include <deque>

#include "autograd/hook.h"
#include "memory/byte_watch.h"
#include "ops/arithmetic.h"
#include "ops/draws.h"
#include "ops/reduce.h"
#include "ops/row_state.h"
#include "ops/rows.h"
#include "ops/select.h"
#include "ops/shape_ops.h"
#include "ops/state.h"
#include "ops/unary.h"
#include "recompute/planning/kept_sets.h"
#include "recompute/solver/evaluate.h"
#include "tests/support/lab.h"

namespace reprise::testing {

namespace {

constexpr std::int64_t kRows = 6, kWidth = 3;

class Machine {
 public:
  enum class Mode : std::uint8_t { online, planned, dry };

  Machine(Method method, std::uint64_t seed, bool segments, Mode mode = Mode::online)
      : lab_(method, DType::f64, seed, mode == Mode::dry),
        segments_(segments),
        planned_(mode != Mode::online),
        hooks_(mode == Mode::online || (mode == Mode::planned && seed % 3 == 0)),
        writes_between_(mode == Mode::planned && seed % 3 == 1) {
    for (int i = 0; i < 2; ++i) {
      leaves_.push_back(lab_.leaf({kRows, kWidth}, numbers(18, 1 + i)));
      leaves_.back()->grad = make_tensor(lab_.memory.allocator(), lab_.memory.observer(), DType::f64, {kRows, kWidth},
                                         Category::gradients);
    }
    for (int i = 0; i < 3; ++i) states_.push_back(lab_.state({kRows, kWidth}, numbers(18, 11 + i)));
    states_.push_back(states_[0].with_view({kRows, kWidth}, {kWidth, 1}, 0));       // an alias of all
    states_.push_back(states_[1].with_view({2, kWidth}, {2 * kWidth, 1}, kWidth));  // rows 1 and 3
  }

  /// The forward alone: its last value that wants a gradient, made a scalar; not defined where there is none.
  Value forward(const std::vector<Instruction>& program) {
    stream_.position = 0;
    std::vector<Value> values;
    std::size_t at = 0;
    while (at < program.size()) block(program, at, values, 0);
    for (std::size_t i = values.size(); i-- > 0;) {
      if (values[i].requires_grad()) return mean(*lab_.tape, values[i]);
    }
    return {};
  }

  /// What follows the forward of a planned step: perhaps a write that no tape is told of, then the backward. False
  /// where something was written that no schedule tells of.
  bool finish_planned(const Value& root) {
    if (writes_between_) {
      std::vector<double> bytes = states_[1].to_doubles();
      for (double& number : bytes) number -= 0.75;
      states_[1].assign_doubles(bytes);
    }
    backward({root}, {root}, false);
    return effects_.empty() && !writes_between_;
  }

  const std::vector<int>& effects() const { return effects_; }
  const std::string& changed() const { return changed_; }
  /// Lets go of all that is left and gives the live bytes after that.
  std::int64_t free_all() {
    bodies_.clear();
    leaves_.clear();
    states_.clear();
    return lab_.memory.meter().live() + indices_.meter().live();
  }

  Lab& lab() { return lab_; }
  Numbers gradients() const {
    Numbers all;
    for (const LeafRef& leaf : leaves_) append(all, Lab::gradient(leaf));
    return all;
  }
  Numbers states() const {
    Numbers all;
    for (const LeafRef& leaf : leaves_) append(all, leaf->data.to_doubles());
    for (int i = 0; i < 3; ++i) append(all, states_[i].to_doubles());
    return all;
  }

  Outcome run(const std::vector<Instruction>& program) {
    std::int64_t level = lab_.memory.meter().live();
    {
      std::vector<Value> values;
      std::size_t at = 0;
      while (at < program.size()) block(program, at, values, 0);
      differentiate(values, program.empty() ? 0 : program[0][3]);
    }
    Outcome out;
    lab_.tape->clear();
    out.leaked = lab_.memory.meter().live() - level;
    out.reads_left = lab_.memory.preserver().live().reads;
    out.gradients = gradients();
    out.states = states();
    out.streams = {stream_.position};
    out.effects = effects_;
    out.changed = changed_;
    out.left = free_all();
    for (int n : lab_.replayer.replays()) out.replays += n;
    return out;
  }

 private:
  static std::vector<double> numbers(int n, int seed) {
    std::vector<double> v;
    for (int i = 0; i < n; ++i) v.push_back(uniform_from_word(philox_word(99, seed, i)) * 2.0 - 0.9);
    return v;
  }
  static void append(Numbers& to, const std::vector<double>& from) {
    to.values.insert(to.values.end(), from.begin(), from.end());
  }

  /// Runs instructions until the end or a closing one; `depth` counts open segments.
  void block(const std::vector<Instruction>& program, std::size_t& at, std::vector<Value>& values, int depth) {
    while (at < program.size()) {
      Instruction i = program[at++];
      int what = i[0] % kKinds == kOpenToo ? kOpen : i[0] % kKinds;
      if (what == kClose && depth > 0) return;
      if (what == kOpen && depth < 3) {
        std::vector<Value> made = segments_ ? segment(*lab_.tape, fmt::format("S{}", i[1] % 4),
                                                      [&] { return body(program, at, values, depth); })
                                            : body(program, at, values, depth);
        for (Value& value : made) values.push_back(std::move(value));
      } else if (what != kOpen && what != kClose) {
        execute(i, values);
      }
    }
  }

  std::vector<Value> body(const std::vector<Instruction>& program, std::size_t& at, const std::vector<Value>& outer,
                          int depth) {
    std::vector<Value> values = outer;
    std::size_t before = values.size();
    block(program, at, values, depth + 1);
    std::vector<Value> made(values.begin() + static_cast<std::ptrdiff_t>(before), values.end());
    if (made.size() > 1) made.erase(made.begin(), made.end() - 1 - (at % 2 && made.size() > 2 ? 1 : 0));
    return made;
  }

  Arg operand(const std::vector<Value>& values, std::uint8_t pick) {
    if (values.empty() || pick % 4 == 0) return leaves_[pick / 4 % leaves_.size()];
    return values[values.size() - 1 - pick / 4 % std::min<std::size_t>(values.size(), 4)];
  }
  Tensor rows(std::uint8_t a, std::uint8_t b) {
    std::int64_t first = a % kRows, second = (first + 1 + b % (kRows - 1)) % kRows;
    std::vector<double> both{static_cast<double>(first), static_cast<double>(second)};
    if (!planned_) return lab_.indices(both);
    Tensor t =
        make_tensor(indices_.allocator(), indices_.observer(), DType::i64, {2}, Category::data);  // known when dry
    t.assign_doubles(both);
    return t;
  }

  enum Kind {
    kSin,
    kMul,
    kAdd,
    kTanh,
    kStateMul,
    kGather,
    kWriteRows,
    kAddState,
    kMulState,
    kAssignState,
    kInPlace,
    kInPlaceAdd,
    kDropout,
    kView,
    kStop,
    kArgmax,
    kHook,
    kAliasRead,
    kStepLeaf,
    kValueHook,
    kOpen,
    kOpenToo,
    kClose,
    kKinds
  };

  void execute(const Instruction& i, std::vector<Value>& values) {
    Tape& t = *lab_.tape;
    Arg a = operand(values, i[1]), b = operand(values, i[2]);
    const Tensor& state = states_[i[3] % states_.size()];
    const Tensor& full = states_[i[3] % 4];
    switch (i[0] % kKinds) {
      case kSin: values.push_back(sin(t, a)); break;
      case kTanh: values.push_back(tanh(t, a)); break;
      case kMul: values.push_back(mul(t, a, b)); break;
      case kAdd: values.push_back(add(t, a, b)); break;
      case kStateMul: values.push_back(mul(t, a, full)); break;
      case kGather: values.push_back(mul(t, a, slice_mean(gather_rows(t, full, rows(i[1], i[2]))))); break;
      case kWriteRows: assign_rows(t, full, rows(i[1], i[2]), 0.1 * i[3] - 3.0); break;
      case kAddState: add_into(t, state, 0.01 * i[1]); break;
      case kMulState: mul_into(t, state, 0.5 + 0.002 * i[2]); break;
      case kAssignState: assign(t, state, 0.03 * i[1] - 1.0); break;
      case kInPlace:
        if (!values.empty()) mul_into(t, values.back(), full);
        break;
      case kInPlaceAdd:
        if (!values.empty()) add_into(t, values[i[1] % values.size()], b);
        break;
      case kDropout: values.push_back(dropout(t, stream_, a, 0.25)); break;
      case kView: {  // as it lies, or made contiguous
        Value turned = transpose(t, reshape(t, a, {kWidth, kRows}));
        values.push_back(i[2] % 2 ? std::move(turned) : reshape(t, turned, {kRows, kWidth}));
        break;
      }
      case kStop: values.push_back(mul(t, stop_gradient(t, a), b)); break;
      case kArgmax: values.push_back(mul(t, a, slice_mean(gather_rows(t, full, argmax(t, a, -1))))); break;
      case kHook:
        if (!hooks_) break;
        leaves_[i[1] % 2]->hooks.push_back([this, tag = i[2], state](Leaf&) { write_in_hook(tag, state); });
        break;
      case kValueHook: {
        auto body = [this, tag = i[2], state](const TensorView&) { write_in_hook(tag, state); };
        values.push_back(hook(t, a, bodies_.emplace_back(body)));
        break;
      }
      case kAliasRead: values.push_back(mul(t, a, slice_mean(copy(t, states_[4])))); break;
      case kStepLeaf: add_into(t, leaves_[i[1] % 2]->data, 0.05); break;
      default: break;
    }
  }

  Value slice_mean(Value v) { return mean(*lab_.tape, v, 0); }

  void write_in_hook(int tag, const Tensor& state) {
    if (!hooks_) return;
    effects_.push_back(tag);
    if (watch_) watch_->allow(state.storage());
    Tape::NoGrad no_grad(*lab_.tape);
    mul_into(*lab_.tape, state, 1.25);
  }

  /// A backward, which must leave every parameter, state and value handed out as it was, but for what hooks write.
  void backward(const std::vector<Value>& roots, const std::vector<Value>& values, bool keep) {
    ByteWatch watch;
    for (const LeafRef& leaf : leaves_) watch.note("a parameter", leaf->data);
    for (std::size_t i = 0; i < states_.size(); ++i) watch.note(fmt::format("state {}", i), states_[i]);
    for (std::size_t i = 0; i < values.size(); ++i) watch.note(fmt::format("value {}", i), values[i].tensor());
    std::uint64_t position = stream_.position;
    watch_ = &watch;
    lab_.tape->backward(roots, keep);
    watch_ = nullptr;
    if (changed_.empty()) changed_ = watch.difference();
    if (changed_.empty() && stream_.position != position) changed_ = "the stream has moved";
  }

  void differentiate(const std::vector<Value>& values, int choice) {
    std::vector<Value> roots;
    for (std::size_t i = 0; i < values.size() && roots.size() < 2; ++i) {
      const Value& value = values[values.size() - 1 - i];
      if (value.requires_grad()) roots.push_back(value);
    }
    if (roots.empty()) return;
    bool twice = choice % 3 == 0;
    backward(roots, values, twice);
    if (!twice) return;
    add_into(*lab_.tape, states_[1], 0.5);
    backward(roots, values, false);
  }

  Lab lab_;
  bool segments_, planned_;
  bool hooks_;           // hooks do something
  bool writes_between_;  // host code writes a state between forward and backward
  Memory indices_;
  std::vector<LeafRef> leaves_;
  std::vector<Tensor> states_;
  Stream stream_{"r", 5, 1, 0};
  std::vector<int> effects_;
  std::deque<GradientHook> bodies_;  // nodes name them by address
  ByteWatch* watch_ = nullptr;       // while a backward runs
  std::string changed_;              // the first thing that one has changed
};

}  // namespace

Outcome run_program(const std::vector<Instruction>& program, Method method, std::uint64_t seed, bool segments) {
  return Machine(method, seed, segments).run(program);
}

namespace {

solver::Choice draw_choice(const Problem& problem, std::uint64_t seed) {
  std::uint64_t at = 0;
  auto draw = [&](std::size_t n) { return philox_word(seed, 7, at++) % n; };
  solver::Choice choice;
  for (const solver::Segment& segment : problem.instance().segments) {
    choice.options.push_back(static_cast<std::uint8_t>(draw(segment.options.size())));
  }
  for (std::size_t c = 0; c < problem.classes().size(); ++c) {
    choice.states.push_back(draw(2) ? solver::StateChoice::whole : solver::StateChoice::region);
  }
  return choice;
}

}  // namespace

PlannedOutcome run_planned(const std::vector<Instruction>& program, std::uint64_t seed) {
  PlannedOutcome out;
  {
    Machine plain(Method::retain, seed, false, Machine::Mode::planned);
    Value root = plain.forward(program);
    if (!root.defined()) return out;
    plain.finish_planned(root);
    root.reset();
    plain.lab().tape->clear();
    out.expected = plain.gradients();
    out.expected_states = plain.states();
    out.expected_effects = plain.effects();
    out.differentiates = true;
  }
  Machine dry(Method::retain, seed, true, Machine::Mode::dry);
  Walker walker(*dry.lab().tape, [&] { return dry.forward(program); });
  Profile profile;
  walker.look({}, [&](Tape& tape) { profile.forward_ns.assign(tape.data().nodes.size(), 1000); });
  Problem problem(walker, space_with_kept_values(walker, profile), profile);
  solver::Choice choice = draw_choice(problem, seed);
  Assignment assignment = problem.assignment(choice, StateOption::region);
  Schedule schedule = walker.schedule(assignment);
  out.predicted_peak = schedule.peak.total_peak;
  out.exact = schedule.exact;
  out.thought_peak = solver::evaluate(problem.instance(), choice).peak;

  Machine real(Method::retain, seed, true, Machine::Mode::planned);
  AssignmentPolicy policy;
  policy.assign(&assignment);
  Tape& tape = *real.lab().tape;
  tape.set_policy(&policy);
  Meter& meter = real.lab().memory.meter();
  meter.reset_peak();
  std::int64_t level = meter.live();
  tape.follow(&schedule);
  Value root = real.forward(program);
  out.foreseen = real.finish_planned(root);
  out.peak = meter.peak();
  root.reset();
  tape.clear();
  out.leaked = meter.live() - level;
  out.gradients = real.gradients();
  out.states = real.states();
  out.effects = real.effects();
  out.changed = real.changed();
  out.left = real.free_all();
  return out;
}

std::string describe(const std::vector<Instruction>& program) {
  static constexpr const char* kNames[] = {
      "sin",       "mul",          "add",          "tanh",         "state_mul", "gather", "write_rows", "add_state",
      "mul_state", "assign_state", "in_place_mul", "in_place_add", "dropout",   "view",   "stop",       "argmax",
      "hook",      "alias_read",   "step_leaf",    "value_hook",   "open",      "open",   "close"};
  std::string text;
  for (const Instruction& i : program)
    text += fmt::format("{}({},{},{}) ", kNames[i[0] % std::size(kNames)], i[1], i[2], i[3]);
  return text;
}

}  // namespace reprise::testing
