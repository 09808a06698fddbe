#include "recompute/planning/walk.h"

#include <algorithm>
#include <utility>

#include "recompute/planning/step_watch.h"

namespace reprise {

namespace {

/// While it lives the policy names an assignment, which may go afterwards, however the step that is recorded ends.
class AssignedForNow {
 public:
  AssignedForNow(AssignmentPolicy& policy, const Assignment& assignment) : policy_(policy) {
    policy_.assign(&assignment);
  }
  ~AssignedForNow() { policy_.assign(nullptr); }
  AssignedForNow(const AssignedForNow&) = delete;
  AssignedForNow& operator=(const AssignedForNow&) = delete;

 private:
  AssignmentPolicy& policy_;
};

}  // namespace

Walker::Walker(Tape& tape, std::function<Value()> forward, HostStates states)
    : Walker(tape, General{}, std::move(states)) {
  forward_ = std::move(forward);
}

Walker::Walker(Tape& tape, General general, HostStates states)
    : tape_(tape), general_(std::move(general)), states_(std::move(states)) {
  tape_.clear();
  tape_.set_policy(&policy_);
  base_ = tape_.memory().meter().live();
}

Walker Walker::of_step(Tape& tape, std::function<void()> step, HostStates states) {
  return Walker(tape, General{std::move(step)}, std::move(states));
}

void Walker::record_and_differentiate() {
  if (!forward_) return general_.step();
  Value root = forward_();
  if (tape_.making()->schedule.draft)
    tape_.foresee_backward(root);
  else
    tape_.backward(root);
}

/// Traces the step and calls `at_end` before the tape is cleared.
Schedule Walker::trace(const Assignment& assignment, const std::function<void()>& at_end) {
  Tape* tapes[] = {&tape_};
  AssignedForNow assigned(policy_, assignment);
  auto step = [&] {
    record_and_differentiate();
    at_end();
  };
  return std::move(make_schedules(tapes, step, {assignment.choices}).front());
}

Schedule Walker::schedule(const Assignment& assignment) {
  return trace(assignment, [] {});
}

/// All that an assignment says, as words.
Walker::Key Walker::key_of(const Assignment& assignment) {
  Key key{static_cast<std::uint64_t>(assignment.fallback.values), static_cast<std::uint64_t>(assignment.fallback.state),
          assignment.segments.size()};
  for (const SegmentOption& option : assignment.segments) {
    key.insert(key.end(), {static_cast<std::uint64_t>(option.values), static_cast<std::uint64_t>(option.state),
                           option.run, option.run_ends});
  }
  for (const NodeChoice& choice : assignment.choices)
    key.insert(key.end(), {choice.kept_results, choice.whole_updates, choice.region_updates});
  return key;
}

const Walk& Walker::walk(const Assignment& assignment) {
  Key key = key_of(assignment);
  auto at = walks_.find(key);
  if (at == walks_.end()) at = walks_.emplace(std::move(key), walk_once(assignment)).first;
  return at->second;
}

const Walk& Walker::walk_all(const Assignment& assignment) {
  if (states_.count == 1) return walk(assignment);
  Key key = key_of(assignment);
  auto at = walks_of_all_.find(key);
  if (at != walks_of_all_.end()) return at->second;
  Walk walk = this->walk(assignment);
  std::size_t highest = 0;
  for (std::size_t state = 1; state < states_.count; ++state) {
    states_.begin(state);
    std::int64_t peak = schedule(assignment).peak.total_peak;
    if (peak > walk.peak) walk.peak = peak, highest = state;
  }
  if (highest > 0) {
    states_.begin(highest);
    Walk other = walk_once(assignment);
    for (std::size_t row = 0; row < walk.row_peaks.size(); ++row)
      walk.row_peaks[row] = std::max(walk.row_peaks[row], other.row_peaks[row]);
  }
  states_.begin(0);
  return walks_of_all_.emplace(std::move(key), std::move(walk)).first->second;
}

Walk Walker::walk_once(const Assignment& assignment) {
  StepWatch watch(tape_);
  Schedule schedule = trace(assignment, [&] { watch.end_step(); });
  Walk walk = watch.take();
  walk.exact = schedule.exact;
  return walk;
}

void Walker::look(const Assignment& assignment, const std::function<void(Tape&)>& look) {
  AssignedForNow assigned(policy_, assignment);
  if (!forward_) return look_at_step(tape_, general_.step, assignment.choices, [&] { look(tape_); });
  Schedule draft;
  draft.choices = assignment.choices;
  draft.draft = true;
  draft.exact = false;
  struct ClearBehind {  // before the draft goes
    Tape& tape;
    ~ClearBehind() { tape.clear(); }
  } clear_behind{tape_};
  tape_.follow(&draft);
  Value root = forward_();
  look(tape_);
}

}  // namespace reprise
