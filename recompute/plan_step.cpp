#include "recompute/plan_step.h"

#include "core/error.h"

namespace reprise {

namespace {

/// While it lives writes save nothing: a first pass asks only which reads are owed, which does not depend on what
/// saving them takes.
class SavingNothing {
 public:
  explicit SavingNothing(Preserver& preserver) : preserver_(preserver), before_(preserver.unchecked()) {
    preserver.set_unchecked(true);
  }
  ~SavingNothing() { preserver_.set_unchecked(before_); }
  SavingNothing(const SavingNothing&) = delete;
  SavingNothing& operator=(const SavingNothing&) = delete;

 private:
  Preserver& preserver_;
  bool before_;
};

}  // namespace

Schedule make_schedule(Tape& dry, const std::function<Value()>& forward, std::vector<NodeChoice> choices,
                       const std::function<void()>& between) {
  if (!dry.memory().is_dry())
    fail(ErrorKind::internal, "[make_schedule] expected a tape on memory without bytes, got one with bytes");
  Schedule schedule;
  schedule.exact = false;  // until it is whole: the second pass has nothing to be held against
  schedule.choices = std::move(choices);
  schedule.draft = true;
  dry.clear();
  dry.follow(&schedule);
  {
    SavingNothing scope(dry.memory().preserver());
    Value root = forward();
    for (const NodeRecord& node : dry.data().nodes) {
      schedule.nodes.push_back({node.op, node.signature, node.owed_operands, node.owed_results, node.replay_operands});
    }
  }
  bool exact = !dry.data().data_dependent;
  dry.clear();
  schedule.draft = false;
  Meter& meter = dry.memory().meter();
  meter.reset_peak();
  dry.follow(&schedule);
  dry.memory().dry()->record_lives();
  {
    Value root = forward();
    schedule.forward = dry.trail();
    schedule.host_saves = dry.host_saves();
    if (between) between();
    dry.backward(root);
    schedule.step = dry.trail();
  }
  schedule.peak = meter.snapshot();
  dry.clear();
  schedule.placement = plan_placement(dry.memory().dry()->lives(), Arena::kSmallBytes);
  schedule.exact = exact;
  return schedule;
}

}  // namespace reprise
