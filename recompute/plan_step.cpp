#include "recompute/plan_step.h"

#include <optional>

#include "core/error.h"

namespace reprise {

namespace {

void require_dry(std::span<Tape* const> tapes) {
  if (tapes.empty()) fail(ErrorKind::internal, "[make_schedule] expected a tape at least, got none");
  for (const Tape* tape : tapes) {
    Memory& memory = const_cast<Tape*>(tape)->memory();
    if (!memory.is_dry())
      fail(ErrorKind::internal, "[make_schedule] expected a tape on memory without bytes, got one with bytes");
    if (&memory != &tapes.front()->memory())
      fail(ErrorKind::internal, "[make_schedule] expected tapes of one memory, got one of another");
  }
}

/// Both passes found the same backwards, or the schedule tells of none that came.
void require_whole(const Schedule& schedule) {
  for (std::size_t i = 0; i < schedule.backwards.size(); ++i) {
    if (schedule.backwards[i].end.events > 0) continue;
    fail(
        ErrorKind::user,
        "[make_schedule] expected {} backwards in the second trace of the step, as in the first, got {}. Make it start "
        "from the same host state each time.",
        schedule.backwards.size(), i);
  }
}

/// Leaves have no accumulators that a dry pass has made.
void take_back_gradients(const ScheduleInMaking& making) {
  for (const LeafRef& leaf : making.given_gradients) {
    leaf->grad = Tensor();
    leaf->clear_grad();
  }
}

/// However the making of schedules ends, no tape follows one of them afterwards.
struct ClearAtEnd {
  std::span<Tape* const> tapes;
  ~ClearAtEnd() {
    for (Tape* tape : tapes) tape->clear();
  }
};

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

/// One pass of the step, from empty tapes on.
void trace(std::span<Tape* const> tapes, std::vector<ScheduleInMaking>& making,
           const std::function<void(bool draft)>& step, bool draft) {
  for (Tape* tape : tapes) tape->clear();
  for (std::size_t i = 0; i < tapes.size(); ++i) {
    making[i].schedule.draft = draft;
    tapes[i]->follow_making(making[i]);
  }
  std::optional<SavingNothing> nothing;
  if (draft) nothing.emplace(tapes.front()->memory().preserver());
  step(draft);
}

/// `step(draft)` traced twice: see plan_step.h.
std::vector<Schedule> make(std::span<Tape* const> tapes, const std::function<void(bool draft)>& step,
                           std::vector<std::vector<NodeChoice>> choices) {
  require_dry(tapes);
  std::vector<ScheduleInMaking> making(tapes.size());
  for (std::size_t i = 0; i < tapes.size(); ++i) {
    if (i < choices.size()) making[i].schedule.choices = std::move(choices[i]);
    making[i].schedule.exact = false;  // until it is whole: the second pass has nothing to be held against
  }
  ClearAtEnd clear_at_end{tapes};
  trace(tapes, making, step, true);
  bool exact = true;
  for (std::size_t i = 0; i < tapes.size(); ++i) exact &= !making[i].by_data && !tapes[i]->data().data_dependent;
  for (Tape* tape : tapes) tape->clear();
  for (const ScheduleInMaking& each : making) take_back_gradients(each);
  DryAllocator& dry = *tapes.front()->memory().dry();
  tapes.front()->memory().meter().reset_peak();
  dry.record_lives();
  trace(tapes, making, step, false);
  for (Tape* tape : tapes) tape->clear();
  PlacementPlan placement = plan_placement(dry.lives(), Arena::kSmallBytes);
  for (const ScheduleInMaking& each : making) take_back_gradients(each);
  std::vector<Schedule> schedules;
  for (ScheduleInMaking& each : making) {
    require_whole(each.schedule);
    each.schedule.exact = exact;
    each.schedule.placement = placement;
    schedules.push_back(std::move(each.schedule));
  }
  return schedules;
}

}  // namespace

Schedule make_schedule(Tape& dry, const std::function<Value()>& forward, std::vector<NodeChoice> choices,
                       const std::function<void()>& between) {
  Tape* tapes[] = {&dry};
  auto step = [&](bool draft) {
    Value root = forward();
    if (draft) return dry.foresee_backward(root);
    if (between) between();
    dry.backward(root);
  };
  std::vector<std::vector<NodeChoice>> all;
  all.push_back(std::move(choices));
  return std::move(make(tapes, step, std::move(all)).front());
}

std::vector<Schedule> make_schedules(std::span<Tape* const> tapes, const std::function<void()>& step,
                                     std::vector<std::vector<NodeChoice>> choices) {
  return make(
      tapes, [&](bool) { step(); }, std::move(choices));
}

void look_at_step(Tape& dry, const std::function<void()>& step, std::vector<NodeChoice> choices,
                  const std::function<void()>& look) {
  Tape* tapes[] = {&dry};
  require_dry(tapes);
  std::vector<ScheduleInMaking> making(1);
  making[0].schedule.choices = std::move(choices);
  making[0].schedule.exact = false;
  making[0].keep_all = true;
  ClearAtEnd clear_at_end{tapes};
  trace(
      tapes, making, [&](bool) { step(); }, true);
  look();
  dry.clear();
  take_back_gradients(making[0]);
}

}  // namespace reprise
