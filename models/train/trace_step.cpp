#include "models/train/trace_step.h"

#include "core/text.h"
#include "models/train/dry_step.h"

namespace reprise {

TracedStep trace_step(const Config& config, const TraceOptions& options) {
  DryStep step(config, options.plan);
  Memory& memory = step.memory();
  Tape& tape = step.tape();
  std::vector<NodeChoice> choices;
  if (options.plan) choices = options.plan->assignment().choices;

  // All schedules are made first, so that what is measured below is the step alone.
  std::vector<Schedule> schedules;
  std::vector<std::vector<std::int64_t>> begins;
  bool exact = true;
  for (std::int64_t i = 0; i < config.get_int("train.accumulate"); ++i) {
    begins.push_back(step.model().host_state());
    step.begin_in(begins.back());
    schedules.push_back(make_schedule(
        tape, [&] { return step.forward().loss; }, choices));
    exact = exact && schedules.back().exact;
  }

  TracedStep traced;
  traced.exact = exact;
  traced.method = step.recompute().method();
  traced.segments.assign(step.marks().marked().begin(), step.marks().marked().end());
  memory.meter().reset_peak();
  traced.before = memory.meter().snapshot();
  if (options.begin) options.begin(tape);
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    step.begin_in(begins[i]);
    tape.follow(&schedules[i]);
    Forward forward = step.forward();
    if (i == 0) traced.after_forward = memory.meter().snapshot();
    traced.micro_batches.push_back(read_contracts(tape, static_cast<std::int64_t>(i)));
    if (options.after_forward) options.after_forward(tape, static_cast<std::int64_t>(i));
    tape.backward(forward.loss);
    forward = {};
    tape.clear();
  }
  if (options.end) options.end();
  traced.step = memory.meter().snapshot();
  return traced;
}

std::vector<std::pair<std::string, std::string>> step_keys(const Config& config) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const Key& key : config.keys().keys()) {
    const std::string& name = key.name;
    bool shapes = name.starts_with("model.") || name.starts_with("recompute.") || name == "train.batch" ||
                  name == "train.accumulate" || name == "train.optimiser" || name == "train.momentum" ||
                  name == "data.prefetch" || name == "memory.budget" || name == "seed" || name == "guard";
    bool unsaid = key.outside_prints && config.value(name) == key.default_value;
    if (shapes && !unsaid && name != "model.init") pairs.emplace_back(name, value_yaml(key, config.value(name)));
  }
  return pairs;
}

std::string step_title(const Config& config, const TracedStep& traced) {
  std::string title = fmt::format("{}, batch {}", config.get_string("model.type"), config.get_int("train.batch"));
  if (traced.micro_batches.size() > 1) title += fmt::format(", {} micro-batches", traced.micro_batches.size());
  return title + fmt::format(", method {}, {} marked", traced.method,
                             counted(static_cast<std::int64_t>(traced.segments.size()), "segment"));
}

}  // namespace reprise
