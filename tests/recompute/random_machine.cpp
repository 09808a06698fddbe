#include "tests/recompute/random_machine.h"

#include <fmt/format.h>

#include "core/philox.h"
#include "ops/arithmetic.h"
#include "ops/draws.h"
#include "ops/reduce.h"
#include "ops/row_state.h"
#include "ops/rows.h"
#include "ops/select.h"
#include "ops/shape_ops.h"
#include "ops/state.h"
#include "ops/unary.h"

namespace reprise::testing {

namespace {

constexpr std::int64_t kRows = 6, kWidth = 3;

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

std::vector<double> numbers(int n, int seed) {
  std::vector<double> v;
  for (int i = 0; i < n; ++i) v.push_back(uniform_from_word(philox_word(99, seed, i)) * 2.0 - 0.9);
  return v;
}

void append(Numbers& to, const std::vector<double>& from) {
  to.values.insert(to.values.end(), from.begin(), from.end());
}

}  // namespace

Machine::Machine(Method method, std::uint64_t seed, bool segments, Mode mode)
    : lab_(method, DType::f64, seed, mode == Mode::dry),
      segments_(segments),
      planned_(mode != Mode::online),
      hooks_(mode == Mode::online || (mode == Mode::planned && seed % 3 == 0)),
      writes_between_(mode == Mode::planned && seed % 3 == 1),
      second_(lab_.memory, lab_.tape->options()),
      tapes_{lab_.tape.get(), &second_},
      tape_(tapes_[0]) {
  second_.set_replayer(&second_replayer_);
  for (int i = 0; i < 2; ++i) {
    leaves_.push_back(lab_.leaf({kRows, kWidth}, numbers(18, 1 + i)));
    leaves_.back()->grad =
        make_tensor(lab_.memory.allocator(), lab_.memory.observer(), DType::f64, {kRows, kWidth}, Category::gradients);
  }
  for (int i = 0; i < 3; ++i) states_.push_back(lab_.state({kRows, kWidth}, numbers(18, 11 + i)));
  states_.push_back(states_[0].with_view({kRows, kWidth}, {kWidth, 1}, 0));       // an alias of all
  states_.push_back(states_[1].with_view({2, kWidth}, {2 * kWidth, 1}, kWidth));  // rows 1 and 3
}

Value Machine::forward(const std::vector<Instruction>& program) {
  stream_.position = 0;
  std::vector<Value> values;
  std::size_t at = 0;
  while (at < program.size()) block(program, at, values, 0);
  for (std::size_t i = values.size(); i-- > 0;) {
    if (values[i].requires_grad()) return mean(*tape_, values[i]);
  }
  return {};
}

bool Machine::finish_planned(const Value& root) {
  if (writes_between_) {
    std::vector<double> bytes = states_[1].to_doubles();
    for (double& number : bytes) number -= 0.75;
    states_[1].assign_doubles(bytes);
  }
  backward({root}, {root}, false);
  return effects_.empty() && !writes_between_;
}

std::int64_t Machine::free_all() {
  bodies_.clear();
  leaves_.clear();
  states_.clear();
  return lab_.memory.meter().live() + indices_.meter().live();
}

Numbers Machine::gradients() const {
  Numbers all;
  for (const LeafRef& leaf : leaves_) append(all, Lab::gradient(leaf));
  return all;
}

Numbers Machine::states() const {
  Numbers all;
  for (const LeafRef& leaf : leaves_) append(all, leaf->data.to_doubles());
  for (int i = 0; i < 3; ++i) append(all, states_[i].to_doubles());
  return all;
}

Outcome Machine::run(const std::vector<Instruction>& program) {
  std::int64_t level = lab_.memory.meter().live();
  {
    std::vector<Value> values;
    std::size_t at = 0;
    while (at < program.size()) block(program, at, values, 0);
    differentiate_all(values, program.empty() ? 0 : program[0][3]);
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
  out.replays = replays();
  return out;
}

void Machine::block(const std::vector<Instruction>& program, std::size_t& at, std::vector<Value>& values, int depth) {
  while (at < program.size()) {
    Instruction i = program[at++];
    int what = i[0] % kKinds == kOpenToo ? kOpen : i[0] % kKinds;
    if (what == kClose && depth > 0) return;
    if (what == kOpen && depth < 3) {
      std::vector<Value> made =
          segments_ ? segment(*tape_, fmt::format("S{}", i[1] % 4), [&] { return body(program, at, values, depth); })
                    : body(program, at, values, depth);
      for (Value& value : made) values.push_back(std::move(value));
    } else if (what != kOpen && what != kClose) {
      execute(i, values);
    }
  }
}

std::vector<Value> Machine::body(const std::vector<Instruction>& program, std::size_t& at,
                                 const std::vector<Value>& outer, int depth) {
  std::vector<Value> values = outer;
  std::size_t before = values.size();
  block(program, at, values, depth + 1);
  std::vector<Value> made(values.begin() + static_cast<std::ptrdiff_t>(before), values.end());
  if (made.size() > 1) made.erase(made.begin(), made.end() - 1 - (at % 2 && made.size() > 2 ? 1 : 0));
  return made;
}

Arg Machine::operand(const std::vector<Value>& values, std::uint8_t pick) {
  if (values.empty() || pick % 4 == 0) return leaves_[pick / 4 % leaves_.size()];
  return values[values.size() - 1 - pick / 4 % std::min<std::size_t>(values.size(), 4)];
}

Tensor Machine::rows(std::uint8_t a, std::uint8_t b) {
  std::int64_t first = a % kRows, second = (first + 1 + b % (kRows - 1)) % kRows;
  std::vector<double> both{static_cast<double>(first), static_cast<double>(second)};
  if (!planned_) return lab_.indices(both);
  Tensor t = make_tensor(indices_.allocator(), indices_.observer(), DType::i64, {2}, Category::data);  // known when dry
  t.assign_doubles(both);
  return t;
}

void Machine::execute(const Instruction& i, std::vector<Value>& values) {
  Tape& t = *tape_;
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
      if (!value_hooks_) break;
      auto body = [this, tag = i[2], state](const TensorView&) { write_in_hook(tag, state); };
      values.push_back(hook(t, a, bodies_.emplace_back(body)));
      break;
    }
    case kAliasRead: values.push_back(mul(t, a, slice_mean(copy(t, states_[4])))); break;
    case kStepLeaf: add_into(t, leaves_[i[1] % 2]->data, 0.05); break;
    default: break;
  }
}

Value Machine::slice_mean(const Value& v) { return mean(*tape_, v, 0); }

void Machine::write_in_hook(int tag, const Tensor& state) {
  called_back_ = true;
  if (!hooks_) return;
  effects_.push_back(tag);
  if (watch_) watch_->allow(state.storage());
  Tape::NoGrad no_grad(*tape_);
  mul_into(*tape_, state, 1.25);
}

/// A backward, which must leave every parameter, state and value handed out as it was, but for what hooks write.
void Machine::backward(const std::vector<Value>& roots, const std::vector<Value>& values, bool keep) {
  ByteWatch watch;
  for (const LeafRef& leaf : leaves_) watch.note("a parameter", leaf->data);
  for (std::size_t i = 0; i < states_.size(); ++i) watch.note(fmt::format("state {}", i), states_[i]);
  for (std::size_t i = 0; i < values.size(); ++i) watch.note(fmt::format("value {}", i), values[i].tensor());
  std::uint64_t position = stream_.position;
  watch_ = &watch;
  roots.front().tape().backward(roots, keep);
  watch_ = nullptr;
  if (changed_.empty()) changed_ = watch.difference();
  if (changed_.empty() && stream_.position != position) changed_ = "the stream has moved";
}

void Machine::differentiate_all(const std::vector<Value>& values, int choice) {
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

void Machine::record(const std::vector<Instruction>& program, bool two_segments, std::vector<Value>& values) {
  std::vector<Instruction> all = program;
  if (two_segments) {
    Instruction open{kOpen}, close{kClose};
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), {close, open});
    all.insert(all.begin(), open);
  }
  std::size_t at = 0;
  while (at < all.size()) block(all, at, values, 0);
}

int Machine::replays() const {
  int count = 0;
  for (const TraceReplayer* replayer : {&lab_.replayer, &second_replayer_}) {
    for (int n : replayer->replays()) count += n;
  }
  return count;
}

bool Machine::differentiate(const std::vector<Value>& values, std::size_t most, bool keep) {
  std::vector<Value> roots;
  for (std::size_t i = values.size(); i-- > 0 && roots.size() < most;) {
    if (values[i].requires_grad()) roots.push_back(values[i]);
  }
  if (roots.empty()) return false;
  if (is_dry()) {
    roots.front().tape().backward(roots, keep);
    return true;
  }
  Tape* present = std::exchange(tape_, &roots.front().tape());  // hooks record on the tape that calls them
  backward(roots, values, keep);
  tape_ = present;
  return true;
}

void Machine::write_as_host(std::size_t state) {
  const Tensor& tensor = states_[state % 3];
  if (is_dry()) return tensor.storage().announce(tensor.region(), Writer{});
  std::vector<double> bytes = tensor.to_doubles();
  for (double& number : bytes) number = 0.5 * number + 0.25;
  tensor.assign_doubles(bytes);
}

}  // namespace reprise::testing
