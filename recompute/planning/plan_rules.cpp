#include "recompute/planning/plan_rules.h"

#include <set>

#include "core/error.h"
#include "core/text.h"
#include "recompute/planning/planned_methods.h"
#include "recompute/units.h"

namespace reprise {

namespace {

/// "segments[2].run: expected none, got 3".
template <class... Args>
std::string broken(const char* list, std::size_t index, const char* key, fmt::format_string<Args...> format,
                   Args&&... args) {
  return fmt::format("{}[{}].{}: {}", list, index, key, fmt::format(format, std::forward<Args>(args)...));
}

bool may_preserve_by(StateOption state, const solver::Allowed& allowed) {
  if (state == StateOption::region) return allowed.region;
  return allowed.whole || !allowed.region;  // `retain` preserves whole storages
}

std::string broken_option(const Plan& plan, std::size_t index, const solver::Allowed& allowed) {
  const PlannedSegment& segment = plan.segments[index];
  if (segment.id == kNoNodes) {
    bool plain = !segment.replay && segment.kept.empty() && segment.run == 0;
    return plain ? "" : broken("segments", index, "id", "expected a retained segment, since it has no nodes");
  }
  bool may = segment.replay ? allowed.whole || allowed.region : allowed.retain;
  if (!may) return broken("segments", index, "replay", "expected what {} allows, got {}", plan.method, segment.replay);
  bool may_keep = segment.replay && segment.run == 0 && allowed.retain && plan.granularity == "node";
  if (segment.kept.empty() || may_keep) return "";
  return broken("segments", index, "kept", "expected none of a segment that is {}, got {}",
                !segment.replay    ? "retained"
                : segment.run != 0 ? "in a run"
                                   : "replayed whole",
                segment.kept.size());
}

/// Walks over the runs: each is at least two replayed neighbours of one number, of which the last ends it.
std::string broken_run(const Plan& plan) {
  std::set<std::uint32_t> ended;
  std::uint32_t open = 0;   // number of the run under way
  std::size_t members = 0;  // of it so far
  bool may_run = is_planned(plan.method);
  for (std::size_t s = 0; s < plan.segments.size(); ++s) {
    const PlannedSegment& segment = plan.segments[s];
    if (segment.id == kNoNodes) continue;
    if (open != 0 && segment.run != open)
      return broken("segments", s, "run", "expected {}, which has not ended, got {}", open, segment.run);
    if (segment.run == 0) {
      if (segment.run_ends) return broken("segments", s, "run_ends", "expected false of a segment in no run, got true");
      continue;
    }
    if (!may_run) return broken("segments", s, "run", "expected no run under {}, got {}", plan.method, segment.run);
    if (!segment.replay) return broken("segments", s, "replay", "expected true of a segment in a run, got false");
    if (ended.contains(segment.run)) return broken("segments", s, "run", "run {} has ended before", segment.run);
    open = segment.run;
    ++members;
    if (!segment.run_ends) continue;
    if (members < 2) return broken("segments", s, "run_ends", "expected a run of two segments at least, got one");
    ended.insert(open);
    open = 0;
    members = 0;
  }
  return open == 0 ? "" : fmt::format("segments: expected a segment that ends run {}, got none", open);
}

std::string broken_class(const Plan& plan, const solver::Allowed& allowed) {
  std::set<std::pair<std::uint32_t, int>> seen;
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    const PlannedClass& state = plan.classes[c];
    if (!seen.emplace(state.node, state.update).second) {
      return broken("classes", c, "update", "expected each write once, got update {} of node {} again", state.update,
                    state.node);
    }
    // Nothing is preserved for a class that nothing owes, whatever is said of it.
    if (!state.readers.empty() && !may_preserve_by(state.state, allowed))
      return broken("classes", c, "state", "expected what {} allows, got {}", plan.method, to_string(state.state));
  }
  return "";
}

// ---- beside a recorded step

class Fit {
 public:
  Fit(const Plan& plan, const TapeData& step) : plan_(plan), step_(step), units_(step) {}

  /// What does not fit, or nothing.
  std::string differs() const {
    if (plan_.nodes != step_.nodes.size())
      return fmt::format("nodes: expected {}, got {}", step_.nodes.size(), plan_.nodes);
    if (plan_.segments.size() != step_.segments.size())
      return fmt::format("segments: expected {}, got {}", step_.segments.size(), plan_.segments.size());
    for (std::uint32_t s = 0; s < plan_.segments.size(); ++s) {
      if (std::string text = differs_in(s); !text.empty()) return text;
    }
    for (std::size_t c = 0; c < plan_.classes.size(); ++c) {
      const PlannedClass& state = plan_.classes[c];
      int updates = step_.nodes[state.node].updates;
      if (state.update >= updates)
        return broken("classes", c, "update", "expected one of the {} of node {}, got {}", updates, state.node,
                      state.update);
    }
    return "";
  }

 private:
  std::string differs_in(std::uint32_t s) const {
    const PlannedSegment& segment = plan_.segments[s];
    std::uint32_t unit = units_.of_segment(s);
    std::string id = unit == kNone ? std::string(kNoNodes) : units_[unit].id;
    if (segment.id != id) return broken("segments", s, "id", "expected '{}', got '{}'", id, shown_part(segment.id));
    for (auto [node, result] : segment.kept) {
      const NodeRecord& record = step_.nodes[node];
      if (record.segment != s) return broken("segments", s, "kept", "expected nodes of its own, got node {}", node);
      if (result >= record.results)
        return broken("segments", s, "kept", "expected one of the {} results of node {}, got {}", record.results, node,
                      result);
    }
    if (segment.run == 0 || segment.run_ends) return "";
    // broken_rule() has seen to it that the run goes on behind this segment.
    if (unit + 1 < units_.size() && units_[unit + 1].segment != kNone) return "";
    return broken("segments", s, "run", "expected a run of segments without nodes between, got some behind '{}'", id);
  }

  const Plan& plan_;
  const TapeData& step_;
  Units units_;
};

}  // namespace

std::string broken_rule(const Plan& plan) {
  solver::Allowed allowed = allowed_by(plan.method).value_or(solver::Allowed{});
  for (std::size_t s = 0; s < plan.segments.size(); ++s) {
    if (std::string text = broken_option(plan, s, allowed); !text.empty()) return text;
  }
  if (std::string text = broken_run(plan); !text.empty()) return text;
  if (std::string text = broken_class(plan, allowed); !text.empty()) return text;
  if (may_preserve_by(plan.fallback, allowed)) return "";
  return fmt::format("fallback: expected what {} allows, got {}", plan.method, to_string(plan.fallback));
}

void require_fits(const Plan& plan, const TapeData& step, const std::string& origin) {
  std::string differs = Fit(plan, step).differs();
  if (differs.empty()) return;
  fail(ErrorKind::user, "[plan] {}, {}. Expected a plan for this step; make it anew with `reprise plan`.", origin,
       differs);
}

}  // namespace reprise
