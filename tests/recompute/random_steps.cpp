// Random steps of several forwards and backwards, on one tape or on two of one memory, planned.
#include <fmt/format.h>

#include "core/philox.h"
#include "ops/shape_ops.h"
#include "recompute/plan_step.h"
#include "recompute/planning/assignment.h"
#include "tests/recompute/random_machine.h"

namespace reprise::testing {

namespace {

/// Options of each segment, of which some neighbours are two-level runs; results that are kept; how the reads that each
/// write is the first to break are preserved.
Assignment draw_assignment(std::uint64_t seed, std::uint64_t tape) {
  constexpr std::size_t kSegments = 64, kNodes = 512;
  std::uint64_t at = 0;
  auto draw = [&](std::uint32_t n) { return philox_word(seed, 21 + tape, at++) % n; };
  Assignment drawn;
  std::uint32_t run = 0, left = 0;  // of the run under way: its number, and how many segments it still takes
  for (std::size_t s = 0; s < kSegments; ++s) {
    SegmentOption option{draw(3) ? ValueOption::replay : ValueOption::retain,
                         draw(2) ? StateOption::whole : StateOption::region};
    if (left == 0 && draw(3) == 0) ++run, left = 2 + draw(3);
    if (left > 0) option = {ValueOption::replay, option.state, run, --left == 0};
    drawn.segments.push_back(option);
  }
  drawn.choices.resize(kNodes);
  for (NodeChoice& choice : drawn.choices) {
    if (draw(6) == 0) choice.kept_results = 1;
    std::uint32_t state = draw(3);
    if (state == 1) choice.whole_updates = ~Mask{0};
    if (state == 2) choice.region_updates = ~Mask{0};
  }
  return drawn;
}

/// Takes the machine through the step; once for one run of it.
class StepRun {
 public:
  StepRun(Machine& machine, std::uint64_t seed) : machine_(machine), seed_(seed) {}

  void run(const std::vector<StepPart>& step) {
    machine_.begin_step(seed_ % 3 == 0);
    machine_.use_tape(0);
    for (const StepPart& part : step) {
      machine_.record(part.body, part.turn[0] / 6 % 4 != 0, now_.values);
      turn(part.turn);
    }
    if (seed_ % 4 == 1 && !machine_.is_dry()) {  // no schedule tells of it
      machine_.write_as_host(1);
      unforeseen_ = true;
    }
    put_aside();
    for (bool last = seed_ % 2; !aside_.empty(); last = !last) end(last ? aside_.size() - 1 : 0, seed_ % 5 == 0);
  }

  bool foreseen() const { return !unforeseen_ && !machine_.called_back(); }
  int backwards = 0, kept = 0, waiting = 0;
  std::int64_t peak = 0;  // up to the end of the last backward

 private:
  struct Forward {
    std::size_t tape = 0;
    std::vector<Value> values;
  };

  void turn(const Instruction& i) {
    switch (i[0] % 6) {
      case 0:
      case 1: another_forward(i); break;
      case 2: differentiate(now_, 1 + i[1] % 2, true); break;
      case 3:
        differentiate(now_, 1 + i[1] % 2, false);
        now_.values.clear();
        break;
      case 4:
        if (!aside_.empty()) end(i[1] % aside_.size(), i[2] % 2);
        break;
      case 5: machine_.write_as_host(i[1]); break;
    }
  }

  /// May begin with what the last one has made, without being differentiated through.
  void another_forward(const Instruction& i) {
    Value link;
    if (i[2] % 3 == 0 && !now_.values.empty()) link = now_.values.back();
    std::size_t tape = i[1] % 2 ? now_.tape : 1 - now_.tape;
    bool same = tape == now_.tape;
    put_aside();
    now_.tape = tape;
    machine_.use_tape(tape);
    if (link.defined() && same) now_.values.push_back(stop_gradient(machine_.tape(tape), link));
  }

  void put_aside() {
    if (!now_.values.empty()) aside_.push_back(std::move(now_));
    now_ = {aside_.empty() ? 0 : aside_.back().tape, {}};
  }

  void end(std::size_t at, bool twice) {
    Forward forward = std::move(aside_[at]);
    aside_.erase(aside_.begin() + static_cast<std::ptrdiff_t>(at));
    waiting += !aside_.empty();
    if (twice && differentiate(forward, 2, true)) machine_.write_as_host(forward.values.size());
    differentiate(forward, 1, false);
  }

  bool differentiate(const Forward& forward, std::size_t roots, bool keep) {
    if (!machine_.differentiate(forward.values, roots, keep)) return false;
    ++backwards;
    kept += keep;
    peak = machine_.lab().memory.meter().peak();
    return true;
  }

  Machine& machine_;
  std::uint64_t seed_;
  Forward now_;
  std::vector<Forward> aside_;
  bool unforeseen_ = false;
};

}  // namespace

StepOutcome run_planned_step(const std::vector<StepPart>& step, std::uint64_t seed) {
  StepOutcome out;
  {
    Machine plain(Method::retain, seed, false, Machine::Mode::planned);
    StepRun run(plain, seed);
    run.run(step);
    for (std::size_t t : {0u, 1u}) plain.tape(t).clear();
    out.expected = plain.gradients();
    out.expected_states = plain.states();
    out.expected_effects = plain.effects();
    out.expected_stream = plain.position();
  }
  Assignment drawn[] = {draw_assignment(seed, 0), draw_assignment(seed, 1)};
  AssignmentPolicy policies[2];
  for (int t : {0, 1}) policies[t].assign(&drawn[t]);
  Machine dry(Method::retain, seed, true, Machine::Mode::dry), real(Method::retain, seed, true, Machine::Mode::planned);
  for (std::size_t t : {0u, 1u}) dry.tape(t).set_policy(&policies[t]), real.tape(t).set_policy(&policies[t]);
  Tape* tapes[] = {&dry.tape(0), &dry.tape(1)};
  std::vector<Schedule> schedules =
      make_schedules(tapes, [&] { StepRun(dry, seed).run(step); }, {drawn[0].choices, drawn[1].choices});
  out.exact = schedules[0].exact;

  Meter& meter = real.lab().memory.meter();
  meter.reset_peak();
  std::int64_t level = meter.live();
  for (std::size_t t : {0u, 1u}) real.tape(t).follow(&schedules[t]);
  {
    StepRun run(real, seed);
    run.run(step);
    out.backwards = run.backwards;
    out.kept = run.kept;
    out.waiting = run.waiting;
    out.peak = run.peak;
    out.foreseen = run.foreseen();
  }
  out.followed = true;
  for (std::size_t t : {0u, 1u}) {
    out.predicted_peak = std::max(out.predicted_peak, schedules[t].peak.total_peak);
    out.tapes += !schedules[t].backwards.empty();
    out.followed &= real.tape(t).next_backward() == nullptr;
  }
  out.replays = real.replays();
  for (std::size_t t : {0u, 1u}) real.tape(t).clear();
  out.leaked = meter.live() - level;
  out.reads_left = real.lab().memory.preserver().live().reads;
  out.gradients = real.gradients();
  out.states = real.states();
  out.stream = real.position();
  out.effects = real.effects();
  out.changed = real.changed();
  out.left = real.free_all();
  return out;
}

std::string describe(const std::vector<StepPart>& step) {
  std::string text;
  for (const StepPart& part : step) {
    auto [what, a, b, c] = part.turn;
    text += fmt::format("{}| turn({},{},{},{})\n", describe(part.body), what % 6, a, b, c);
  }
  return text;
}

}  // namespace reprise::testing
