#include "tests/recompute/random_program.h"

#include <fmt/format.h>

#include "recompute/planning/kept_sets.h"
#include "recompute/solver/evaluate.h"
#include "tests/recompute/random_machine.h"
#include "tests/support/planned_tape.h"

namespace reprise::testing {

Outcome run_program(const std::vector<Instruction>& program, Method method, std::uint64_t seed, bool segments) {
  return Machine(method, seed, segments).run(program);
}

namespace {

solver::Choice draw_choice(const Problem& problem, std::uint64_t seed) {
  std::uint64_t at = 0;
  auto draw = [&](std::size_t n) { return philox_word(seed, 7, at++) % n; };
  solver::Choice choice;
  for (const solver::Segment& segment : problem.instance().segments) {
    choice.options.push_back(static_cast<std::uint8_t>(draw(segment.options.size())));
  }
  for (std::size_t c = 0; c < problem.classes().size(); ++c) {
    choice.states.push_back(draw(2) ? solver::StateChoice::whole : solver::StateChoice::region);
  }
  return choice;
}

}  // namespace

PlannedOutcome run_planned(const std::vector<Instruction>& program, std::uint64_t seed) {
  PlannedOutcome out;
  {
    Machine plain(Method::retain, seed, false, Machine::Mode::planned);
    Value root = plain.forward(program);
    if (!root.defined()) return out;
    plain.finish_planned(root);
    root.reset();
    plain.lab().tape->clear();
    out.expected = plain.gradients();
    out.expected_states = plain.states();
    out.expected_effects = plain.effects();
    out.differentiates = true;
  }
  Machine dry(Method::retain, seed, true, Machine::Mode::dry);
  Walker walker(*dry.lab().tape, [&] { return dry.forward(program); });
  Profile profile;
  walker.look({}, [&](Tape& tape) { profile.forward_ns.assign(tape.data().nodes.size(), 1000); });
  Problem problem(walker, space_with_kept_values(walker, profile), profile);
  solver::Choice choice = draw_choice(problem, seed);
  Assignment assignment = problem.assignment(choice, StateOption::region);
  Schedule schedule = walker.schedule(assignment);
  out.predicted_peak = schedule.peak.total_peak;
  out.exact = schedule.exact;
  out.thought_peak = solver::evaluate(problem.instance(), choice).peak;

  Machine real(Method::retain, seed, true, Machine::Mode::planned);
  Tape& tape = *real.lab().tape;
  PlannedTape planned(tape, assignment, schedule);
  Meter& meter = real.lab().memory.meter();
  std::int64_t level = meter.live();
  Value root = real.forward(program);
  out.foreseen = real.finish_planned(root);
  out.peak = meter.peak();
  root.reset();
  tape.clear();
  out.leaked = meter.live() - level;
  out.gradients = real.gradients();
  out.states = real.states();
  out.effects = real.effects();
  out.changed = real.changed();
  out.left = real.free_all();
  return out;
}

std::string describe(const std::vector<Instruction>& program) {
  static constexpr const char* kNames[] = {
      "sin",       "mul",          "add",          "tanh",         "state_mul", "gather", "write_rows", "add_state",
      "mul_state", "assign_state", "in_place_mul", "in_place_add", "dropout",   "view",   "stop",       "argmax",
      "hook",      "alias_read",   "step_leaf",    "value_hook",   "open",      "open",   "close"};
  std::string text;
  for (const Instruction& i : program)
    text += fmt::format("{}({},{},{}) ", kNames[i[0] % std::size(kNames)], i[1], i[2], i[3]);
  return text;
}

}  // namespace reprise::testing
