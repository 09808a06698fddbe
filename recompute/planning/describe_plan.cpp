// A solver's choice as a plan that a person can read: per segment and class what is done, what it holds and costs, why;
// and a plan as a choice again.
#include <algorithm>

#include "core/text.h"
#include "recompute/planning/planner.h"

namespace reprise {

namespace {

bool uses(const solver::Use& use, const solver::Choice& choice) {
  bool option = use.options >> choice.options[static_cast<std::size_t>(use.segment)] & 1;
  return option && (use.read_class < 0 || choice.states[static_cast<std::size_t>(use.read_class)] == use.state);
}

/// What one segment holds and costs under a choice.
PlannedSegment describe_segment(const Problem& problem, const solver::Choice& choice, std::uint32_t unit,
                                std::int64_t budget) {
  const solver::Instance& instance = problem.instance();
  const Unit& at = problem.units()[unit];
  std::size_t option = choice.options[unit];
  const SegmentChoice& chosen = problem.space()[at.segment][option];
  PlannedSegment segment{
      at.id, chosen.name, chosen.values == ValueOption::replay, chosen.run, chosen.run_ends, chosen.kept, 0, 0, 0,
      0,     ""};
  segment.replay_ns = instance.segments[unit].options[option].time_ns;
  for (const solver::Object& object : instance.objects) {
    const solver::Use* first = nullptr;
    bool mine = false, state = false;
    for (const solver::Use& use : object.uses) {
      if (!uses(use, choice)) continue;
      if (!first) first = &use;
      mine |= use.segment == static_cast<int>(unit);
      state |= use.read_class >= 0;
    }
    if (!mine) continue;
    if (state)
      segment.bytes_preserved += object.bytes;
    else if (object.birth == problem.rows().forward_of(unit) + 1)
      segment.bytes_kept += object.bytes;
    if (first->segment == static_cast<int>(unit)) segment.move_ns += object.time_ns;
  }
  for (const solver::JointTime& joint : instance.joint_times) {
    bool mine = joint.segment == static_cast<int>(unit) && joint.options >> option & 1;
    if (mine && choice.states[static_cast<std::size_t>(joint.read_class)] == joint.state)
      segment.move_ns += joint.time_ns;
  }
  const auto& options = instance.segments[unit].options;
  if (!segment.replay) {
    std::int64_t saved = options.size() > 1 ? options[1].time_ns : 0;
    segment.why = fmt::format("keeping saves {:.2f} ms", static_cast<double>(saved) * 1e-6);
    return segment;
  }
  if (segment.run != 0) {
    segment.why = "in a two-level run, which holds nothing between its segments";
    return segment;
  }
  solver::Choice flipped = choice;
  flipped.options[unit] = 0;
  solver::Evaluation kept = solver::evaluate(instance, flipped);
  if (budget > 0 && kept.peak > budget) {
    segment.why =
        fmt::format("retained, {} would be {} over", instance.row_names[static_cast<std::size_t>(kept.binding_row)],
                    short_bytes(kept.peak - budget));
  } else {
    segment.why = "as the method says";
  }
  return segment;
}

}  // namespace

Plan Planner::describe(const Problem& problem, const std::string& method, const Checked& checked,
                       std::int64_t budget) const {
  const solver::Instance& instance = problem.instance();
  Plan plan;
  plan.method = method;
  plan.granularity = options_.keep_values ? "node" : "segment";
  plan.made_for = options_.made_for;
  plan.budget = budget;
  plan.predicted_peak = checked.peak;
  plan.predicted_ns = solver::evaluate(instance, checked.choice).time_ns;
  auto binding = std::max_element(checked.rows.begin(), checked.rows.end()) - checked.rows.begin();
  plan.binding_row = problem.rows().name(static_cast<int>(binding), problem.units());
  plan.fallback = checked.assignment.fallback.state;
  plan.nodes = static_cast<std::uint32_t>(checked.assignment.choices.size());
  for (std::uint32_t s = 0; s < problem.space().size(); ++s) {
    std::uint32_t unit = problem.units().of_segment(s);
    if (unit != kNone)
      plan.segments.push_back(describe_segment(problem, checked.choice, unit, budget));
    else
      plan.segments.push_back({kNoNodes, "retain", false, 0, false, {}, 0, 0, 0, 0, ""});
  }
  for (std::size_t c = 0; c < problem.classes().size(); ++c) {
    const std::vector<KillingWrite>& writes = problem.classes()[c];
    PlannedClass state{instance.classes[c].name, writes[0].node, writes[0].update, StateOption::whole, 0, {}};
    if (checked.choice.states[c] == solver::StateChoice::region) state.state = StateOption::region;
    std::vector<int> readers;
    for (const solver::Object& object : instance.objects) {
      bool here = false;
      for (const solver::Use& use : object.uses) {
        if (use.read_class != static_cast<int>(c) || !uses(use, checked.choice)) continue;
        here = true;
        readers.push_back(use.segment);
      }
      if (here) state.bytes += object.bytes;
    }
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    for (int unit : readers) state.readers.push_back(problem.units()[static_cast<std::size_t>(unit)].id);
    plan.classes.push_back(state);
    for (std::size_t w = 1; w < writes.size(); ++w) {  // listed beside it; the bytes are with the first
      plan.classes.push_back({state.storage, writes[w].node, writes[w].update, state.state, 0, {}});
    }
  }
  return plan;
}

std::optional<solver::Choice> Problem::choice_of(const Plan& plan) const {
  solver::Choice choice;
  for (const Unit& unit : units_.all()) {
    choice.options.push_back(0);
    if (unit.segment == kNone) continue;
    const PlannedSegment& planned = plan.segments[unit.segment];
    const std::vector<SegmentChoice>& options = space_[unit.segment];
    auto at = std::find_if(options.begin(), options.end(), [&](const SegmentChoice& option) {
      bool replay = option.values == ValueOption::replay;
      return replay == planned.replay && option.kept == planned.kept && (option.run != 0) == (planned.run != 0) &&
             option.run_ends == planned.run_ends;
    });
    if (at == options.end()) return std::nullopt;
    choice.options.back() = static_cast<std::uint8_t>(at - options.begin());
  }
  for (const std::vector<KillingWrite>& writes : classes_) {
    StateOption state = plan.fallback;
    for (const PlannedClass& planned : plan.classes) {
      if (planned.node == writes[0].node && planned.update == writes[0].update) state = planned.state;
    }
    choice.states.push_back(state == StateOption::whole ? solver::StateChoice::whole : solver::StateChoice::region);
  }
  return choice;
}

}  // namespace reprise
