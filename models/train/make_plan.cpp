#include "models/train/make_plan.h"

#include "core/machine.h"
#include "core/parallel.h"
#include "core/text.h"
#include "data/text_file.h"
#include "models/train/measure_profile.h"
#include "models/train/step_planner.h"
#include "recompute/contract_json.h"
#include "recompute/fingerprint.h"
#include "recompute/planning/plan_text.h"

namespace reprise {

namespace {

constexpr std::int64_t kLongestPlanFile = 64 << 20;

std::string read_file(const Config& config, const std::string& key) {
  try {
    return read_text_file(config.get_string(key), "plan", kLongestPlanFile);
  } catch (const Error& error) {
    throw config.error_at(key, "expected a file written by `reprise plan`. {}", error.message());
  }
}

std::int64_t budget_of(const Config& config) { return config.get_bytes("memory.budget").value_or(0); }

PlanPrint print_of(Walker& walker) {
  PlanPrint print;
  std::size_t segments = 0;
  walker.look({}, [&](Tape& tape) {
    print.trace = trace_fingerprint(read_contracts(tape).contracts);
    segments = tape.data().segments.size();
  });
  Assignment replayed;
  replayed.segments.assign(segments, {ValueOption::replay, StateOption::region});
  std::string all;
  walker.look(replayed, [&](Tape& tape) {
    for (const ReplayContract& contract : read_contracts(tape).contracts) all += contract_fingerprint(contract);
  });
  print.contracts = fingerprint(all);
  print.build = build_fingerprint();
  print.threads = thread_count();
  return print;
}

/// "parameters 640, data 128".
std::string bytes_by_category(const CategoryBytes& bytes) {
  std::string text;
  for (std::size_t c = 0; c < bytes.size(); ++c) {
    if (bytes[c] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(static_cast<Category>(c)), bytes[c]);
  }
  return text;
}

/// The profile in recompute.profile.
Profile stored_profile(const Config& config, const PlanPrint& print) {
  const std::string& path = config.get_string("recompute.profile");
  Profile profile = profile_from_json(read_file(config, "recompute.profile"), path);
  if (profile.machine != processor_name()) {
    throw config.error_at("recompute.profile", "expected times of this machine ({}), {} has those of '{}'",
                          processor_name(), path, profile.machine);
  }
  auto words = [](const auto& of) {
    return fmt::format("trace {}, build {}, {} threads, {} micro-batches, optimiser {}", of.trace, of.build, of.threads,
                       of.micro_batches, of.optimiser);
  };
  std::string here = words(print), there = words(profile);
  if (here == there) return profile;
  throw config.error_at("recompute.profile", "expected a profile of this step ({}), {} is of {}", here, path, there);
}

/// Refuses a plan that is not one of the step of `config`. Errors (user).
void require_holds(const Config& config, const std::shared_ptr<const Plan>& plan, const std::string& origin) {
  require_made_for(*plan, print_of(config), origin);
  {
    DryStep step(config);
    step.walker().look({}, [&](Tape& tape) { require_fits(*plan, tape.data(), origin); });
  }
  std::int64_t peak = StepPlanner(config, plan).worst().total_peak;
  if (peak == plan->predicted_peak) return;
  fail(ErrorKind::user,
       "[plan] expected a plan whose predicted_peak is that of its step, {} bytes; got {} which says {} bytes. Make it "
       "anew with `reprise plan`.",
       peak, origin, plan->predicted_peak);
}

/// The plan in recompute.plan.
std::shared_ptr<const Plan> stored_plan(const Config& config) {
  const std::string& path = config.get_string("recompute.plan");
  std::string text = read_file(config, "recompute.plan");
  try {
    auto plan = std::make_shared<const Plan>(plan_from_json(text, path));
    require_holds(config, plan, path);
    return plan;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::user) throw;
    throw config.error_at("recompute.plan", "{}", error.message());
  }
}

}  // namespace

PlanPrint print_of(const Config& config) {
  DryStep step(config);
  std::string held = bytes_by_category(step.memory().meter().snapshot().live);
  Walker walker = step.walker();
  PlanPrint print = print_of(walker);
  print.held = std::move(held);
  print.micro_batches = config.get_int("train.accumulate");
  print.optimiser = config.get_string("train.optimiser");
  return print;
}

Profile profile_of(const Config& config, const std::string& method, const PlanNotes& notes) {
  PlanPrint print = print_of(config);
  if (!config.get_string("recompute.profile").empty()) return stored_profile(config, print);
  RunPlanner planner(config, Profile{});
  auto least = std::make_shared<const Plan>(planner.least(method));
  std::int64_t budget = budget_of(config);
  if (budget > 0 && least->predicted_peak > budget) {
    throw config.error_at("memory.budget", "{}", planner.plan(method, budget).none.message);
  }
  if (notes)
    notes(fmt::format("profiling {} inside {}", counted(config.get_int("recompute.profile_steps"), "step"),
                      short_bytes(least->predicted_peak)));
  Profile profile = measure_profile(config, least, planner.planner());
  profile.trace = print.trace;
  profile.build = print.build;
  profile.optimiser = print.optimiser;
  return profile;
}

RunPlanner::RunPlanner(const Config& config, Profile profile)
    : profile_(std::move(profile)),
      step_(config),
      states_(step_.reachable(step_.first_state())),
      walker_(step_.tape(), [this] { return step_.forward().loss; },
              {states_.size(), [this](std::size_t state) { step_.begin_in(states_[state]); }}),
      planner_(walker_, profile_, options(config)) {}

PlannerOptions RunPlanner::options(const Config& config) {
  PlannerOptions options;
  options.keep_values = config.get_string("recompute.granularity") == "node" && !profile_.forward_ns.empty();
  options.longest_run = static_cast<std::uint32_t>(config.get_int("recompute.longest_run"));
  step_.begin_in(step_.first_state());
  options.made_for = print_of(config);  // of a step of its own: walking moves the versions of storages
  return options;
}

void check_planned_keys(const Config& config) {
  if (config.get_map("recompute.options").empty()) return;
  throw config.error_at("recompute.options",
                        "expected no options by name, since a plan decides for every segment. Leave them out with "
                        "recompute.options={{}}");
}

MadePlan make_plan(const Config& config, const PlanNotes& notes) {
  if (!needs_plan(config)) return {};
  check_planned_keys(config);
  if (!config.get_string("recompute.plan").empty()) {
    std::shared_ptr<const Plan> plan = stored_plan(config);
    const std::string& method = config.get_string("recompute.method");
    // A file may name the method of its plain run; who types both means both.
    if (config.position("recompute.method").on_command_line() && plan->method != method) {
      throw config.error_at(
          "recompute.plan",
          "expected a plan of the recompute.method beside it, {}, got one of {}. Leave one of the keys out", method,
          plan->method);
    }
    return {std::move(plan), std::nullopt};
  }
  const std::string& method = config.get_string("recompute.method");
  RunPlanner planner(config, profile_of(config, method, notes));
  Planner::Answer answer = planner.plan(method, budget_of(config));
  if (!answer.plan) throw config.error_at("memory.budget", "{}", answer.none.message);
  if (notes) notes(plan_summary(*answer.plan));
  return {std::make_shared<const Plan>(std::move(*answer.plan)), planner.profile()};
}

std::shared_ptr<const Plan> read_plan_if_it_fits(const Config& config, const std::filesystem::path& path) {
  try {
    auto plan =
        std::make_shared<const Plan>(plan_from_json(read_text_file(path, "plan", kLongestPlanFile), path.string()));
    bool asked = plan->method == config.get_string("recompute.method") &&
                 plan->granularity == config.get_string("recompute.granularity");
    bool named = !config.get_string("recompute.plan").empty();
    if ((!asked || plan->budget != budget_of(config)) && !named) return nullptr;
    require_holds(config, plan, path.string());
    return plan;
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace reprise
