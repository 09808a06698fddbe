#include "models/check/effect_log.h"

#include <algorithm>

#include "core/text.h"

namespace reprise {
namespace {

bool has_effect(const NodeRecord& node) { return node.updates > 0 || node.op->draws || node.op->effect; }

bool runs_once(const NodeRecord& node) { return node.op->effect || node.results == 0; }

std::string effect_text(const EffectMark& mark) { return node_text(mark.op, mark.node, mark.segment); }

std::string run_count(const EffectMark& expected, const EffectMark& found) {
  return fmt::format("ran {} instead of {}", counted(found.runs, "time"), counted(expected.runs, "time"));
}

std::string draw_text(const EffectMark& mark) {
  return fmt::format("{} from position {} of {}", counted(static_cast<std::int64_t>(mark.count), "number"),
                     mark.position, mark.stream.empty() ? "no stream" : mark.stream);
}

bool draws_as(const EffectMark& a, const EffectMark& b) {
  return a.stream == b.stream && a.position == b.position && a.count == b.count;
}

/// What `found` did otherwise; one thing does.
std::string what_differs(const EffectMark& expected, const EffectMark& found) {
  if (expected.op != found.op) return fmt::format("{} instead of {}", effect_text(found), effect_text(expected));
  std::string who = effect_text(found);
  if (!draws_as(expected, found)) {
    return fmt::format("{} drew {} instead of {}", who, draw_text(found), draw_text(expected));
  }
  for (std::size_t i = 0; i < expected.writes.size() && i < found.writes.size(); ++i) {
    if (!(expected.writes[i] == found.writes[i]))
      return fmt::format("{} left other bytes in {}", who, found.writes[i].name);
  }
  if (expected.writes.size() != found.writes.size()) return who + " wrote another number of states";
  return fmt::format("{} {}", who, run_count(expected, found));
}

/// Those marks for which `fits` holds.
template <class Fits>
std::vector<const EffectMark*> chosen(const EffectMarks& marks, Fits&& fits) {
  std::vector<const EffectMark*> some;
  for (const EffectMark& mark : marks) {
    if (fits(mark)) some.push_back(&mark);
  }
  return some;
}

const Mark* write_to(const EffectMark& mark, const std::string& state) {
  auto at =
      std::find_if(mark.writes.begin(), mark.writes.end(), [&](const Mark& write) { return write.name == state; });
  return at == mark.writes.end() ? nullptr : &*at;
}

/// The culprit among the marks of one thing: the first that is not `same`, or that only one of the runs has; if there
/// is none, the last, behind which it happened.
template <class Same>
std::string culprit(const std::vector<const EffectMark*>& expected, const std::vector<const EffectMark*>& found,
                    const char* did, Same&& same) {
  std::size_t both = std::min(expected.size(), found.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (!same(*expected[i], *found[i])) return fmt::format(", {} otherwise by {}", did, effect_text(*found[i]));
  }
  if (found.size() > both) return fmt::format(", {} once more by {}", did, effect_text(*found[both]));
  if (expected.size() > both) return fmt::format(", not {} by {}", did, effect_text(*expected[both]));
  if (both == 0) return fmt::format(", {} by no op on the tape", did);
  const EffectMark &a = *expected.back(), &b = *found.back();
  return fmt::format(", changed after it was last {} by {}{}", did, effect_text(b),
                     a.runs == b.runs ? "" : ", which " + run_count(a, b));
}

}  // namespace

std::uint64_t hash_tensor(const Tensor& tensor) {
  tensor.storage().host_read();
  TensorView view = tensor.view();
  return hash_bytes(view.data, static_cast<std::size_t>(view.bytes()));
}

std::string node_text(const std::string& op, std::uint32_t node, const std::string& segment) {
  return fmt::format("{} (node {}{}{})", op, node, segment.empty() ? "" : " in ", segment);
}

EffectLog::EffectLog(Tape& tape, TrainableModel& model, EffectMarks& marks)
    : tape_(tape), model_(model), marks_(marks), first_(marks.size()) {
  tape_.set_node_hook([this](std::uint32_t index) { take_down(index); });
}

void EffectLog::take_down(std::uint32_t index) {
  const NodeRecord& node = tape_.data().nodes[index];
  if (!has_effect(node)) return;
  EffectMark& mark = marks_.emplace_back();
  mark.node = index;
  mark.op = node.op->name;
  mark.segment = node.label ? node.label : "";
  if (node.op->draws) {
    mark.position = node.draw.position;
    mark.count = node.draw.count;
    for (const Stream* stream : model_.streams()) {
      if (stream->seed == node.draw.seed && stream->id == node.draw.id) mark.stream = stream->name;
    }
  }
  if (node.updates == 0) return;
  std::vector<NamedTensor> states = model_.tensors();
  for (int i = node.inputs; i < node.inputs + node.updates; ++i) {
    const OperandRecord& operand = tape_.data().operands[node.first_operand + static_cast<std::uint32_t>(i)];
    if (operand.kind != OperandKind::leaf && operand.kind != OperandKind::state) continue;
    for (const NamedTensor& state : states) {
      if (state.tensor.storage_ref() == operand.tensor.storage_ref())
        mark.writes.push_back({state.name, hash_tensor(state.tensor)});
    }
  }
}

void EffectLog::count_runs() {
  for (std::size_t i = first_; i < marks_.size(); ++i) {
    const NodeRecord& node = tape_.data().nodes[marks_[i].node];
    if (runs_once(node)) marks_[i].runs = node.runs;
  }
}

std::string differing_effect(const EffectMarks& expected, const EffectMarks& found) {
  std::size_t both = std::min(expected.size(), found.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (!expected[i].does_as(found[i])) return what_differs(expected[i], found[i]);
  }
  if (found.size() > both) return effect_text(found[both]) + ", which was not expected";
  if (expected.size() > both) return effect_text(expected[both]) + " is missing";
  return "";
}

std::string writer_of(const std::string& state, const EffectMarks& expected, const EffectMarks& found) {
  auto writes = [&](const EffectMark& mark) { return write_to(mark, state) != nullptr; };
  return culprit(chosen(expected, writes), chosen(found, writes), "written",
                 [&](const EffectMark& a, const EffectMark& b) { return *write_to(a, state) == *write_to(b, state); });
}

std::string drawer_of(const std::string& stream, const EffectMarks& expected, const EffectMarks& found) {
  auto draws = [&](const EffectMark& mark) { return mark.stream == stream; };
  return culprit(chosen(expected, draws), chosen(found, draws), "drawn from", draws_as);
}

}  // namespace reprise
