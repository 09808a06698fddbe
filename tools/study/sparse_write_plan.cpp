// From a study file to its tasks: one profile a workload, the smallest feasible budget of each method, the budgets that
// follow from these by the rule, a stored plan for each method at each, and the blocks in their seeded order.
#include <algorithm>
#include <map>

#include "core/interrupt.h"
#include "core/text.h"
#include "models/train/make_plan.h"
#include "recompute/fingerprint.h"
#include "tools/study/sparse_write.h"
#include "tools/study/tasks.h"
#include "tools/study/workload.h"

namespace reprise::study {
namespace {

/// What is compared: one workload at one budget and granularity.
struct Cell {
  std::string workload, budget, granularity;
  std::int64_t bytes = 0, blocks = 0;
  std::vector<Task> methods;  // one for each method, without block and order
};

/// Of what the plan chooses: methods that choose the same have equal ones.
std::string choices_fingerprint(const Plan& plan) {
  std::string text;
  for (const PlannedSegment& segment : plan.segments) {
    text += fmt::format("{} {} {}", segment.id, segment.replay, segment.run);
    for (const auto& [node, result] : segment.kept) text += fmt::format(" {}.{}", node, result);
    text += "\n";
  }
  for (const PlannedClass& state : plan.classes) {
    if (state.bytes > 0)
      text += fmt::format("{} {} {} {}\n", state.storage, state.node, state.update, static_cast<int>(state.state));
  }
  return fingerprint(text);
}

class SparseWritePlanner {
 public:
  explicit SparseWritePlanner(const Workshop& workshop) : workshop_(workshop), study_(workshop.study()) {}

  Planned plan() {
    about_["fingerprints"] = require_all_frozen(study_);  // before anything is measured
    for (const std::string& name : workload_names(study_)) plan_workload(name);
    Planned planned;
    planned.about = std::move(about_);
    planned.tasks = in_order();
    for (Task& task : map_tasks(workshop_, static_cast<std::int64_t>(planned.tasks.size())))
      planned.tasks.push_back(std::move(task));
    planned.notes = std::move(notes_);
    return planned;
  }

 private:
  void plan_workload(const std::string& name) {
    Config config = workload_config(study_, name);
    config.set("recompute.longest_run", std::int64_t{1}, "the study");
    std::string file = "workloads/" + name + ".yaml";
    workshop_.store(file, config.to_yaml());
    workshop_.note("profiling " + name);
    Json answer = workshop_.run_fresh({{"do", "profile"}, {"config", file}});
    std::string profile_text = answer.at("profile");
    workshop_.store("plans/" + name + ".profile.json", profile_text);
    setup_s_ = answer.at("setup_s");
    Profile profile = profile_from_json(profile_text, name);
    std::map<std::string, std::int64_t> budgets;
    for (const std::string& granularity : granularities()) {
      config.set("recompute.granularity", std::string(granularity), "the study");
      RunPlanner planner(config, profile);
      Json smallest = smallest_feasible(planner);
      about_["smallest_feasible"][name][granularity] = smallest;
      // The budgets are those of the first, segment; the plans at node are made for the same bytes.
      if (budgets.empty()) budgets = budgets_of(name, planner, smallest);
      for (const auto& [budget, bytes] : budgets) {
        bool ladder = budget.starts_with("ladder");
        if (ladder && granularity != granularities().front()) continue;
        add_cell(planner, {name, budget, granularity, bytes, blocks_of(name, ladder, granularity), {}});
      }
    }
  }

  /// Segment first, since budgets follow from it.
  Words granularities() const {
    Words all = study_.get_list("granularities");
    std::stable_partition(all.begin(), all.end(), [](const std::string& name) { return name == "segment"; });
    return all;
  }

  Json smallest_feasible(RunPlanner& planner) const {
    Json smallest;
    for (const std::string& method : plannable_methods()) {
      if (stop_requested()) throw Interrupted{"planning the study; the same command begins that again"};
      smallest[method] = planner.least(method).predicted_peak;
    }
    return smallest;
  }

  std::map<std::string, std::int64_t> budgets_of(const std::string& name, RunPlanner& planner, const Json& smallest) {
    std::int64_t whole = smallest.at("retain+whole"), region = smallest.at("region");
    std::map<std::string, std::int64_t> budgets = {{"both", whole + (whole + 49) / 50},
                                                   {"tight", region + (whole - region) / 2}};
    if (name == study_.get_string("ladder.workload")) {
      std::int64_t low = INT64_MAX, high = planner.least("retain").predicted_peak,
                   rungs = study_.get_int("ladder.rungs");
      for (const auto& [method, bytes] : smallest.items()) low = std::min(low, bytes.get<std::int64_t>());
      for (std::int64_t i = 0; i < rungs; ++i)
        budgets[fmt::format("ladder{}", i + 1)] = low + (high - low) * i / (rungs - 1);
    }
    std::string line =
        fmt::format("{}: a step of {:.3f} s in {} without recomputation; budgets", name,
                    static_cast<double>(planner.profile().base_ns()) * 1e-9, short_bytes(smallest.at("retain")));
    for (const auto& [budget, bytes] : budgets) {
      about_["budgets"][name][budget] = bytes;
      line += fmt::format(" {} {}", budget, short_bytes(bytes));
    }
    notes_.push_back(line);
    return budgets;
  }

  std::int64_t blocks_of(const std::string& name, bool ladder, const std::string& granularity) const {
    if (ladder) return study_.get_int("processes.ladder");
    if (granularity == "node") return study_.get_int("processes.node");
    std::string own = entry_or(study_, "processes.of", name);
    return own.empty() ? study_.get_int("processes.budgets") : std::stoll(own);
  }

  void add_cell(RunPlanner& planner, Cell cell) {
    for (const std::string& method : methods_of(study_)) {
      if (stop_requested()) throw Interrupted{"planning the study; the same command begins that again"};
      std::int64_t least = about_["smallest_feasible"][cell.workload][cell.granularity][method];
      if (cell.bytes < least) {
        cell.methods.push_back(infeasible_task(
            cell, method,
            fmt::format("the smallest feasible budget of {} is {} bytes, {}", method, least, short_bytes(least))));
        continue;
      }
      Planner::Answer answer = planner.plan(method, cell.bytes);
      cell.methods.push_back(answer.plan ? process_task(cell, *answer.plan)
                                         : infeasible_task(cell, method, answer.none.message));
    }
    cells_.push_back(std::move(cell));
  }

  static Task task_of(const Cell& cell, const std::string& method) {
    Task task;
    task.kind = "process";
    task.id = fmt::format("process/{}/{}/{}/{}", cell.workload, cell.budget, cell.granularity, method);
    task.label = fmt::format("{} {} {} {}", cell.workload, cell.budget, cell.granularity, method);
    task.fields = {{"workload", cell.workload},
                   {"budget", cell.budget},
                   {"budget_bytes", cell.bytes},
                   {"granularity", cell.granularity},
                   {"method", method}};
    return task;
  }

  static Task infeasible_task(const Cell& cell, const std::string& method, const std::string& why) {
    Task task = task_of(cell, method);
    task.infeasible = why;
    return task;
  }

  Task process_task(const Cell& cell, const Plan& plan) const {
    Task task = task_of(cell, plan.method);
    std::string file = fmt::format("plans/{}.{}.{}.{}.json", cell.workload, cell.budget, cell.granularity, plan.method);
    workshop_.store(file, to_json(plan));
    double step = static_cast<double>(plan.predicted_ns) * 1e-9;
    std::int64_t warmup = study_.get_int("steps.warmup"), timed = study_.get_int("steps.timed");
    task.expected_s = setup_s_ + static_cast<double>(warmup + timed) * step;
    task.fields["warmup_steps"] = warmup;
    task.fields["predicted_s"] = step;
    task.fields["lower_bound_s"] = static_cast<double>(plan.lower_bound_ns) * 1e-9;
    task.fields["predicted_peak_bytes"] = plan.predicted_peak;
    task.fields["plan"] = choices_fingerprint(plan);
    task.work = {{"do", "process"},
                 {"config", "workloads/" + cell.workload + ".yaml"},
                 {"plan", file},
                 {"warmup_steps", warmup},
                 {"timed_steps", timed},
                 {"overrides",
                  {"recompute.method=" + plan.method, "recompute.granularity=" + cell.granularity,
                   fmt::format("memory.budget={}", cell.bytes)}}};
    return task;
  }

  /// Blocks of all cells mixed, in each block every feasible method once in random order; what has no plan stands once.
  std::vector<Task> in_order() const {
    auto seed = static_cast<std::uint64_t>(study_.get_int("seed"));
    std::vector<std::int64_t> counts;
    for (const Cell& cell : cells_) counts.push_back(cell.blocks);
    std::vector<Task> tasks;
    std::uint64_t stream = 1;
    for (const auto& [index, block] : interleaved_blocks(counts, seed)) {
      const Cell& cell = cells_[index];
      for (std::size_t at : random_order(cell.methods.size(), seed, (std::uint64_t{1} << 40) + stream++)) {
        Task task = cell.methods[at];
        if (!task.infeasible.empty() && block > 0) continue;
        if (task.infeasible.empty()) {
          task.id += fmt::format("/{}", block);
          task.label += fmt::format(", block {} of {}", block + 1, cell.blocks);
        }
        task.block = block;
        task.order = static_cast<std::int64_t>(tasks.size());
        tasks.push_back(std::move(task));
      }
    }
    return tasks;
  }

  const Workshop& workshop_;
  const Config& study_;
  Json about_ = Json::object();
  std::vector<Cell> cells_;
  std::vector<std::string> notes_;
  double setup_s_ = 0;
};

}  // namespace

Planned plan_sparse_write(const Workshop& workshop) { return SparseWritePlanner(workshop).plan(); }

}  // namespace reprise::study
