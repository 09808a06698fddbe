#include "autograd/engine.h"

#include <algorithm>
#include <optional>

#include "autograd/array.h"
#include "autograd/lifetime.h"
#include "autograd/node_backward.h"
#include "autograd/replayer.h"
#include "autograd/segment.h"
#include "core/error.h"

namespace reprise {

namespace {

/// Nothing may be added to a part of a gradient that nobody will complete.
void require_whole(const Leaf& leaf) {
  if (!leaf.grad_abandoned || leaf.grad_empty) return;
  fail(ErrorKind::user,
       "[backward] expected a gradient of '{}' that is complete or clear, got a part: the backward that made it was "
       "abandoned. Clear it first.",
       leaf.name);
}

/// A leaf may have been given other data since it was read; its gradient is that of what was read.
void require_fitting(const OperandRecord& operand) {
  const Tensor& sum = operand.leaf->grad;
  if (!sum.defined() || sum.size() == operand.tensor.size()) return;
  fail(ErrorKind::user, "[backward] expected a gradient of '{}' of shape {}, as it was read, got one of shape {}",
       operand.leaf->name, to_string(operand.tensor.shape()), to_string(sum.shape()));
}

}  // namespace

BackwardEngine::BackwardEngine(Tape& tape)
    : tape_(tape),
      data_(tape.data()),
      state_(tape.data().backward),
      preserver_(tape.memory().preserver()),
      scratch_(tape.memory().preserver()) {}

void Tape::backward(std::span<const Value> of, bool keep) {
  BackwardEngine(*this).run(of, keep || (making_ && making_->keep_all));
}

void BackwardEngine::run(std::span<const Value> of, bool keep) {
  if (data_.open_segment != kNone) {
    fail(ErrorKind::user,
         "[backward] expected no open segment, got '{}'. Call backward after the segment has returned.",
         data_.segments[data_.open_segment].name);
  }
  if (state_.running)
    fail(ErrorKind::user, "[backward] expected no backward of this tape at work, got one called by a hook of another");
  if (state_.active) {
    require_same(of, keep);
    require_unspoiled();
  } else {
    start(of, keep);
  }
  state_.running = true;
  struct OnExit {  // whatever leaves this function, every state is at its newest bytes
    Tape& tape;
    bool whole = false;
    ~OnExit() {
      tape.data().backward.running = false;
      tape.memory().preserver().close_all();
      if (!whole) tape.leave_schedule();  // a node that failed took memory and gave it back, and will again
    }
  } on_exit{tape_};
  if (!state_.active) seed(of);
  walk();
  on_exit.whole = true;
  finish();
}

void BackwardEngine::walk() {
  while (true) {
    finish_leaves(state_.next);
    if (state_.next == 0) break;
    std::uint32_t index = state_.next - 1;
    if (state_.reached[index]) {
      tape_.stop_here();
      visit(index);
    }
    state_.next = index;
  }
  leave_segment();
}

void BackwardEngine::require_same(std::span<const Value> of, bool keep) const {
  bool same = keep == state_.keep && of.size() == state_.roots.size();
  for (std::size_t i = 0; same && i < of.size(); ++i) same = of[i].handle() == state_.roots[i];
  if (!same) {
    fail(ErrorKind::user,
         "[backward] expected the backward that failed to be called again, got another one. Call it again "
         "with the same values, or abandon_backward() first.");
  }
}

void BackwardEngine::require_unspoiled() const {
  if (state_.spoiled == kNone) return;
  fail(ErrorKind::internal,
       "[backward] expected to go on with node {} ({}), got one that failed after it had begun to write to sums of "
       "gradients, which its op promises not to do (.fails_first). Call abandon_backward(), clear the gradients and "
       "record the step again.",
       state_.spoiled, data_.nodes[state_.spoiled].op->name);
}

void BackwardEngine::start(std::span<const Value> of, bool keep) {
  for (const Value& value : of) {
    if (&value.tape() != &tape_) fail(ErrorKind::user, "[backward] expected values of this tape, got one of another");
    if (!value.requires_grad()) {
      fail(ErrorKind::user, "[backward] expected a value that depends on a leaf, got one of op {} that does not",
           data_.nodes[data_.values[value.id()].node].op->name);
    }
  }
  bool leaves = tape_.on_schedule() && departs(of, keep);
  mark(of);
  if (tape_.schedule()) require_foreseen();
  if (leaves) tape_.leave_schedule();
  for (const BackwardState::LeafUse& use : state_.leaves) require_whole(*use.leaf);
  cut_run(data_);
  if (tape_.making() && tape_.on_schedule()) note_beginning(of, keep);
  state_.keep = keep;
  state_.segment = kNone;
  state_.first_pending_leaf = 0;
  if (TapeObserver* observer = tape_.observer()) observer->begin_backward(tape_);
}

void BackwardEngine::mark(std::span<const Value> of) {
  state_.reached.assign(data_.nodes.size(), 0);
  state_.leaves.clear();
  std::uint32_t last = 0;
  for (const Value& value : of) {
    std::uint32_t node = data_.values[value.id()].node;
    state_.reached[node] = 1;
    last = std::max(last, node + 1);
  }
  state_.next = last;
  for (std::uint32_t n = last; n-- > 0;) {
    if (!state_.reached[n]) continue;
    const NodeRecord& node = data_.nodes[n];
    if (node.consumed || node.aborted) {
      fail(ErrorKind::user, "[backward] node {} ({}{}{}) {}. {}", n, node.op->name, *node.label ? " in " : "",
           node.label,
           node.consumed ? "was differentiated by an earlier backward" : "belongs to a segment whose body threw",
           node.consumed ? "Pass keep to all but the last backward over the same values." : "Record the step again.");
    }
    for_each_bit(node.wanted, [&](int i) {
      const OperandRecord& operand = data_.operands[node.first_operand + i];
      if (operand.kind == OperandKind::value) {
        state_.reached[data_.values[operand.value].node] = 1;
        return;
      }
      auto at = std::find_if(state_.leaves.begin(), state_.leaves.end(),
                             [&](const BackwardState::LeafUse& use) { return use.leaf == operand.leaf; });
      require_fitting(operand);
      if (at == state_.leaves.end())
        state_.leaves.push_back({operand.leaf, n, 0});
      else
        at->lowest = n;
    });
  }
  std::stable_sort(state_.leaves.begin(), state_.leaves.end(),
                   [](const auto& a, const auto& b) { return a.lowest > b.lowest; });
}

void BackwardEngine::seed(std::span<const Value> of) {
  std::vector<Tensor> seeds;  // all of them before the first is handed over: a failure leaves no gradient behind
  for (const Value& value : of) {
    const Tensor& root = data_.values[value.id()].tensor;
    seeds.push_back(make_tensor(tape_.memory().allocator(), nullptr, root.dtype(), root.shape(), Category::cotangents));
    fill(seeds.back().view(), 1.0);
  }
  state_.roots.clear();
  for (const Value& value : of) state_.roots.push_back(value.handle());
  for (std::size_t i = 0; i < of.size(); ++i) {
    Tensor& cotangent = data_.values[of[i].id()].cotangent;
    if (cotangent.defined()) add_into(cotangent.view(), seeds[i].view());
    cotangent = std::move(seeds[i]);
  }
  state_.active = true;
}

bool BackwardEngine::has_gradient(const NodeRecord& node) const {
  for (int r = 0; r < node.results; ++r) {
    if (data_.values[node.first_value + r].cotangent.defined()) return true;
  }
  return false;
}

void BackwardEngine::visit(std::uint32_t index) {
  tape_.note_act();
  std::uint32_t segment = data_.nodes[index].segment;
  if (segment != state_.segment) {
    leave_segment();
    enter_segment(segment);
  } else if (segment != kNone && data_.segments[segment].replayable()) {
    enter_segment(segment);  // goes on after a failure; nothing to do otherwise
  }
  if (segment == kNone) restore_operands(data_.nodes[index]);
  if (has_gradient(data_.nodes[index])) differentiate(index);
  consume(index);
}

void BackwardEngine::enter_segment(std::uint32_t segment) {
  state_.segment = segment;
  if (segment == kNone || !data_.segments[segment].replayable()) return;
  SegmentInstance& instance = data_.segments[segment];
  if (instance.replaying && instance.replay_next == instance.needed.size()) return;
  try {
    if (instance.option.run != 0) tape_.replayer()->restore_run(tape_, segment);
    tape_.replayer()->replay(tape_, segment);
  } catch (Error& error) {
    error.add_context(fmt::format("while replaying segment {} ({})", segment, data_.segments[segment].name));
    throw;
  }
}

/// A node between the segments of a run may be the first to ask for a value that the run has let go of.
void BackwardEngine::restore_operands(const NodeRecord& node) {
  for_each_bit(node.owed_operands, [&](int i) {
    const OperandRecord& operand = data_.operands[node.first_operand + i];
    if (operand.kind != OperandKind::value || !data_.values[operand.value].let_go) return;
    tape_.replayer()->restore_run(tape_, data_.values[operand.value].segment);
  });
}

void BackwardEngine::leave_segment() {
  if (state_.segment == kNone) return;
  std::uint32_t segment = state_.segment;
  end_replay(segment);
  if (!state_.keep) update_needed(tape_, segment, false);
  preserver_.close_all();
  state_.segment = kNone;
}

void BackwardEngine::end_replay(std::uint32_t segment) noexcept {
  SegmentInstance& instance = data_.segments[segment];
  if (!instance.replaying) return;
  unbind_segment(data_, preserver_, instance);
  instance.replaying = false;
  instance.replay_next = 0;
}

void BackwardEngine::differentiate(std::uint32_t index) {
  const Op& op = *data_.nodes[index].op;
  OpScope scope(tape_.memory().meter(), op.name);
  TapeObserver* observer = tape_.observer();
  if (observer) observer->before_backward(tape_, index);
  NodeBackward context(tape_, index, scratch_);
  context.prepare();
  context.stage();
  try {
    run_formula(context, index);
  } catch (...) {
    if (context.spoiled()) state_.spoiled = index;
    throw;
  }
  context.commit();
}

void BackwardEngine::run_formula(NodeBackward& context, std::uint32_t index) {
  const Op& op = *context.op;
  if (context.has_work() && !tape_.memory().is_dry()) {
    std::optional<Memory::InHook> in_hook;
    if (op.effect) {  // it may call a user's hook
      tape_.leave_schedule();
      in_hook.emplace(tape_.memory());
    }
    if (Guard* guard = tape_.guard())
      guard->backward(context);
    else
      op.backward(context);
    context.note_run();
  }
  context.announce();
  if (TapeObserver* observer = tape_.observer()) observer->after_backward(tape_, index, context.gradients());
}

void BackwardEngine::consume(std::uint32_t index) noexcept {
  NodeRecord& node = data_.nodes[index];
  for (int r = 0; r < node.results; ++r) data_.values[node.first_value + r].cotangent = Tensor();
  auto use = [&](ValueId v) {
    ValueRecord& value = data_.values[v];
    if (value.replay.defined() && --value.replay_uses == 0) unbind_replay(data_, preserver_, v);
  };
  for_each_bit(node.saved_operands, [&](int i) {
    const OperandRecord& operand = data_.operands[node.first_operand + i];
    if (operand.kind == OperandKind::value && data_.values[operand.value].segment == node.segment) use(operand.value);
  });
  for_each_bit(node.saved_results, [&](int r) { use(node.first_value + r); });
  if (state_.keep) return;
  drop_formula(data_, preserver_, node);
  node.consumed = true;
}

void BackwardEngine::finish_leaves(std::uint32_t lowest_left) {
  while (state_.first_pending_leaf < state_.leaves.size()) {
    auto& use = state_.leaves[state_.first_pending_leaf];
    if (use.lowest < lowest_left) return;
    LeafRef leaf = use.leaf;
    leaf->grad_partial = false;
    while (use.next_hook < leaf->hooks.size() && !tape_.memory().is_dry()) {
      preserver_.close_all();
      tape_.leave_schedule();  // a dry trace runs no hooks, so it cannot know what they do to memory
      auto hook = leaf->hooks[use.next_hook];
      Memory::InHook in_hook(tape_.memory());
      hook(*leaf);
      ++state_.leaves[state_.first_pending_leaf].next_hook;
    }
    ++state_.first_pending_leaf;
  }
}

void BackwardEngine::finish() {
  if (TapeObserver* observer = tape_.observer()) observer->end_backward(tape_);
  if (tape_.on_schedule()) meet_end();
  state_.active = false;
  state_.roots.clear();
  state_.leaves.clear();
}

void Tape::abandon_backward() {
  BackwardState& state = data_.backward;
  if (state.running)
    fail(ErrorKind::user,
         "[backward] expected to be left alone by its hooks, got one that abandons it or clears its tape");
  if (!state.active) return;
  for (const BackwardState::LeafUse& use : state.leaves) {
    if (!use.leaf->grad_partial) continue;
    use.leaf->grad_abandoned = true;
    if (use.leaf->grad.defined()) {
      use.leaf->grad.storage().refuse_reading(
          "it is a part of a gradient, and the backward that made it was abandoned. Call clear_grad() first.");
    }
  }
  for (ValueRecord& value : data_.values) {
    value.cotangent = Tensor();
    unbind_replay(data_, memory_.preserver(), static_cast<ValueId>(&value - data_.values.data()));
    value.replay_uses = 0;
  }
  for (SegmentInstance& instance : data_.segments) {
    instance.replaying = false;
    instance.replay_next = 0;
    instance.run_counted = false;
    instance.run_next = 0;
  }
  state = BackwardState{};
}

}  // namespace reprise
