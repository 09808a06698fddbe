// `reprise plan`: chooses per segment and state what to retain, replay and preserve under a budget, and says why.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "core/text.h"
#include "data/atomic_file.h"
#include "models/train/make_plan.h"
#include "models/train/session.h"
#include "recompute/planning/plan_text.h"
#include "tools/cli/verb.h"
#include "tools/frontier/frontier.h"

namespace reprise {
namespace {

constexpr const char* kPlanHelp =
    R"(Plans the training step of CONFIG: traces it without data, profiles a few real steps inside memory.budget, and chooses for
each segment whether its values are retained or replayed (perhaps keeping single results), and for each state that is
overwritten whether it is preserved whole or by region, so that the step is fastest and its peak within the budget. Prints
a table per segment, the predicted peak and time, a lower bound on the time of any plan of the method, and the gap.

--all puts the seven methods side by side at one budget. --frontier computes step time against budget for all of them,
from the smallest feasible budget to no recomputation: a CSV file and an SVG picture in the folder -o; with --measure some
of the plans are also run, what they took is drawn on top, and it is said whether methods whose predicted times differ
by more than 3 % came out in the predicted order.

The method is that of the command line, else the file's where it plans, else joint. -o writes the plan, --profile-out
the measured times; recompute.plan and recompute.profile read them back.

How to read the table: kept are the bytes that a segment holds from its forward to its backward, preserved those of
overwritten state saved for it; "keeping saves" is the replay time that retaining a segment avoids, and "would be over"
by how much the peak would miss the budget if this one replayed segment were retained too.

Examples:
  reprise plan configs/cifar100_dense_queue.yaml memory.budget=120MiB
  reprise plan configs/cifar100_dense_queue.yaml memory.budget=120MiB recompute.method=retain+whole -o plan.json
  reprise plan configs/cifar100_dense_queue.yaml --all memory.budget=100MiB
  reprise plan configs/cifar100_dense_queue.yaml --frontier -o frontier
  reprise plan configs/cifar100_dense_queue.yaml --frontier --measure -o measured)";

struct PlanOptions {
  ConfigArguments arguments;
  std::string output, profile_output;
  bool all = false, frontier = false, measure = false;
};

int one_plan(const Config& config, const PlanOptions& options, RunPlanner& planner) {
  const std::string& method = config.get_string("recompute.method");
  auto start = std::chrono::steady_clock::now();
  Planner::Answer answer = planner.plan(method, config.get_bytes("memory.budget").value_or(0));
  if (!answer.plan) throw config.error_at("memory.budget", "{}", answer.none.message);
  std::FILE* out = is_standard_output(options.output) ? stderr : stdout;  // the plan itself goes there
  std::fputs(plan_table(*answer.plan).c_str(), out);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  fmt::print(out, "  planned in {:.3f} s, {} units of work\n", seconds.count(), answer.plan->work);
  if (answer.plan->budget == 0) fmt::print(out, "  there is no memory.budget, so nothing needs to be replayed\n");
  if (options.output.empty()) return 0;
  write_output(options.output, to_json(*answer.plan));
  if (!is_standard_output(options.output)) fmt::print("written to {}\n", options.output);
  return 0;
}

int all_plans(const Config& config, RunPlanner& planner) {
  std::int64_t budget = config.get_bytes("memory.budget").value_or(0);
  std::vector<PlanRow> rows;
  for (const std::string& method : plannable_methods()) rows.push_back({method, planner.plan(method, budget)});
  if (budget > 0) fmt::print("budget {} bytes ({})\n", budget, short_bytes(budget));
  std::fputs(plans_side_by_side(rows, budget).c_str(), stdout);
  bool any = std::any_of(rows.begin(), rows.end(), [](const PlanRow& row) { return row.answer.plan.has_value(); });
  if (!any) throw config.error_at("memory.budget", "{}", rows.back().answer.none.message);
  return 0;
}

/// The method named on the command line, else the file's where it is one that plans, else joint.
void choose_method(Config& config) {
  if (config.get_string("recompute.method") == "unchecked") {
    throw config.error_at("recompute.method",
                          "expected a method that can be planned; unchecked is the negative control and never is");
  }
  bool typed = config.position("recompute.method").on_command_line();
  if (!typed && !needs_plan(config)) config.set("recompute.method", std::string("joint"), "reprise plan");
}

/// Mistakes are named before anything is measured.
void check_options(const PlanOptions& options) {
  if (options.all && options.frontier) fail(ErrorKind::user, "[plan] expected --all or --frontier, got both");
  if (options.measure && !options.frontier) fail(ErrorKind::user, "[plan] --measure expected --frontier beside it");
  if (options.frontier && options.output.empty()) fail(ErrorKind::user, "[plan] --frontier expected a folder: -o DIR");
  if (options.all && !options.output.empty()) {
    fail(ErrorKind::user, "[plan] -o expected one plan to write, got --all. Choose one with recompute.method=M");
  }
  std::error_code error;
  if (!options.frontier) {
    check_output(options.output, "plan", {options.arguments.file()});
  } else if (std::filesystem::exists(options.output, error) && !std::filesystem::is_directory(options.output, error)) {
    fail(ErrorKind::user, "[plan] --frontier expected a folder, {} is a file", options.output);
  }
  check_output(options.profile_output, "plan", {options.arguments.file()});
}

void check_keys(const Config& config) {
  check_planned_keys(config);
  if (!config.get_string("recompute.plan").empty()) {
    throw config.error_at("recompute.plan",
                          "expected no stored plan, since this verb makes one. Leave it out with "
                          "recompute.plan=; `reprise explain --plan FILE` shows what it does");
  }
  if (config.get_bytes("memory.budget") == Bytes(0)) {
    throw config.error_at("memory.budget", "expected room for something, got 0 bytes. Leave the key out for no limit");
  }
}

int run(const PlanOptions& options) {
  check_options(options);
  Config config = options.arguments.load();
  check_keys(config);
  choose_method(config);
  // Several methods are compared at budgets that the method asked for may not fit: the profile is taken where any fits.
  bool several = options.all || options.frontier;
  auto note = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  RunPlanner planner(config, within_budget(config, [&] {
                       return profile_of(config, several ? "joint" : config.get_string("recompute.method"), note);
                     }));
  if (!options.profile_output.empty()) write_output(options.profile_output, to_json(planner.profile()));
  if (options.frontier) return write_frontier(config, planner, options.output, options.measure);
  return options.all ? all_plans(config, planner) : one_plan(config, options, planner);
}

}  // namespace

Verb plan_verb() {
  return {"plan", "choose what to retain, replay and preserve under a budget", kPlanHelp,
          [](Command& app) -> VerbAction {
            auto options = std::make_shared<PlanOptions>();
            options->arguments.add_to(app);
            app.add_option("-o,--output", options->output, "the file to write the plan to; with --frontier, the folder")
                .option_text("PATH");
            app.add_option("--profile-out", options->profile_output, "the file to write the measured times to")
                .option_text("FILE");
            app.add_flag("--all", options->all, "the seven methods side by side");
            app.add_flag("--frontier", options->frontier, "step time against budget for the seven methods");
            app.add_flag("--measure", options->measure, "with --frontier: also run some of the plans");
            return [options] { return run(*options); };
          }};
}

}  // namespace reprise
