// The part of the backward engine that holds a step against the schedule which its tape follows.

#include "autograd/engine.h"
#include "core/error.h"

namespace reprise {

namespace {

/// Whether memory was taken and given back as the schedule tells. Guarded runs take none of their own from the meter.
void check_trail(const Tape& tape, const Trail& expected, const char* phase) {
  if (!tape.schedule()->exact || tape.trail() == expected) return;
  fail(ErrorKind::replay,
       "[schedule] expected {} memory events in a certain order by the end of the {}, got {}{}. The step departs "
       "from its schedule: a handle lived longer or died sooner than when it was traced.",
       expected.events, phase, tape.trail().events,
       tape.trail().events == expected.events ? " in another order or of other sizes" : "");
}

bool is_replayed(const TapeData& data, const NodeRecord& node) {
  return node.segment != kNone && data.segments[node.segment].replayable();
}

/// Operands of `node` whose bytes are to be had only if somebody owes them: no constants, and none that its own replay
/// makes.
Mask operands_to_owe(const TapeData& data, const NodeRecord& node) {
  Mask mask = 0;
  for (int i = 0; i < node.inputs + node.updates; ++i) {
    const OperandRecord& operand = data.operands[node.first_operand + i];
    if (operand.kind == OperandKind::absent) continue;
    bool value = operand.kind == OperandKind::value;
    if (value && is_replayed(data, node) && data.values[operand.value].segment == node.segment) continue;
    if (!value && operand.tensor.storage().is_constant()) continue;
    mask |= Mask{1} << i;
  }
  return mask;
}

/// The same of a node that a replay runs: it leaves the updates of some ops alone.
Mask operands_to_replay(const TapeData& data, const NodeRecord& node) {
  Mask mask = operands_to_owe(data, node);
  for (int i = node.inputs; node.op->outputs_ignore_updates && i < node.inputs + node.updates; ++i) {
    if (data.operands[node.first_operand + i].kind != OperandKind::value) mask &= ~(Mask{1} << i);
  }
  return mask;
}

void require_none(Mask missing, const NodeRecord& node, std::uint32_t index, const char* what) {
  if (!missing) return;
  fail(
      ErrorKind::replay,
      "[schedule] expected a backward over the nodes that had one when the step was traced, got one over node {} ({}), "
      "whose {} {} nobody owes. The step departs from its schedule: host code took another way than when it was "
      "traced.",
      index, node.op->name, what, __builtin_ctzll(missing));
}

}  // namespace

void note_owed(const TapeData& data, Schedule& draft) {
  draft.nodes.resize(data.nodes.size());
  for (std::size_t n = 0; n < data.nodes.size(); ++n) {
    const NodeRecord& node = data.nodes[n];
    ScheduledNode& noted = draft.nodes[n];
    noted.op = node.op;
    noted.signature = node.signature;
    noted.formula_operands |= node.owed_operands;
    noted.formula_results |= node.owed_results;
    noted.replay_operands |= node.replay_operands;
  }
}

void Tape::foresee_backward(const Value& of) {
  note_owed(data_, making_->schedule);
  making_->by_data |= data_.data_dependent;
  making_->schedule.backwards.push_back({{of.id()}, false, {}, {}, 0, 0});
}

/// Whether this is not the backward that the schedule tells of next, or comes after what no trace knows of: what host
/// code has written, or another tape has done.
bool BackwardEngine::departs(std::span<const Value> of, bool keep) const {
  if (tape_.making()) return false;
  const ScheduledBackward* next = tape_.next_backward();
  if (!next || tape_.memory().in_hook() || tape_.others_departed()) return true;
  if (tape_.host_saves() != next->host_saves || tape_.others_acts() != next->others) return true;
  // As many writes of host code as in the trace need not be the same ones.
  if (next->host_saves > 0 && tape_.schedule()->exact && tape_.trail() != next->begin) return true;
  check_trail(tape_, next->begin, "forward");
  bool same = keep == next->keep && of.size() == next->roots.size();
  for (std::size_t i = 0; same && i < of.size(); ++i) same = of[i].id() == next->roots[i];
  return !same;
}

/// Under a schedule only those reads are owed that the traced backward needs. One that needs others would find bytes
/// that somebody may have overwritten, so it is refused before anything moves.
void BackwardEngine::require_foreseen() const {
  std::uint32_t checked = kNone;  // the last segment whose replay was looked at
  for (std::uint32_t n = state_.next; n-- > 0;) {
    if (!state_.reached[n]) continue;
    const NodeRecord& node = data_.nodes[n];
    bool replayed = is_replayed(data_, node);
    if (replayed && node.segment != checked) {
      checked = node.segment;
      for (std::uint32_t each : data_.segments[checked].needed) {
        const NodeRecord& again = data_.nodes[each];
        require_none(operands_to_replay(data_, again) & ~again.replay_operands, again, each, "operand");
      }
    }
    require_none(node.saved_operands & operands_to_owe(data_, node) & ~node.owed_operands, node, n, "operand");
    if (!replayed) require_none(node.saved_results & ~node.owed_results, node, n, "result");
  }
}

/// For the schedule that is being made of this trace.
void BackwardEngine::note_beginning(std::span<const Value> of, bool keep) {
  ScheduleInMaking& making = *tape_.making();
  ScheduledBackward backward{{}, keep, tape_.trail(), {}, tape_.host_saves(), tape_.others_acts()};
  for (const Value& value : of) backward.roots.push_back(value.id());
  if (!making.schedule.draft) {
    making.schedule.backwards[tape_.next_backward_index()] = std::move(backward);
    return;
  }
  note_owed(data_, making.schedule);
  making.by_data |= data_.data_dependent;
  making.schedule.backwards.push_back(std::move(backward));
  for (const BackwardState::LeafUse& use : state_.leaves) {
    if (!use.leaf->grad.defined()) making.given_gradients.push_back(use.leaf);
  }
}

/// What comes after the last backward is not in the schedule.
void BackwardEngine::meet_end() {
  if (tape_.schedule()->draft) return;
  if (ScheduleInMaking* making = tape_.making()) {
    making->schedule.backwards[tape_.next_backward_index()].end = tape_.trail();
    making->schedule.peak = tape_.memory().meter().snapshot();
  } else {
    check_trail(tape_, tape_.next_backward()->end, "backward");
  }
  tape_.end_scheduled_backward();
}

}  // namespace reprise
