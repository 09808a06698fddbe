// From a study file to its tasks: which runs there are, the plans that they go by, and the timing blocks in their
// order.
#include <algorithm>
#include <map>

#include "core/interrupt.h"
#include "core/text.h"
#include "data/cifar100.h"
#include "models/train/make_plan.h"
#include "recompute/fingerprint.h"
#include "recompute/planning/planner.h"
#include "tools/study/application.h"
#include "tools/study/tasks.h"
#include "tools/study/workload.h"

namespace reprise::study {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kRunStream = std::uint64_t{1} << 41, kTimingStream = std::uint64_t{1} << 42;
constexpr const char* kDataFolder = "data";

Task task_of(const std::string& kind, const std::string& layout, const std::string& method, std::int64_t seed) {
  Task task;
  task.kind = kind;
  task.id = fmt::format("{}/{}/{}/{}", kind, layout, method, seed);
  task.label = fmt::format("{} {} {}, seed {}", kind, layout, method, seed);
  task.fields = {{"layout", layout}, {"method", method}, {"seed", seed}};
  return task;
}

/// A block of runs is a seed of one workload, its methods in random order.
void add_runs(const Config& study, std::vector<Task>& tasks) {
  auto order_seed = static_cast<std::uint64_t>(study.get_int("seed"));
  std::int64_t block = 0;
  auto add = [&](Task task) {
    task.lanes = static_cast<int>(study.get_int("parallel"));
    task.block = block;
    tasks.push_back(std::move(task));
  };
  const Words& methods = study.get_list("methods");
  for (const std::string& layout : workload_names(study)) {
    for (std::int64_t seed : seeds_of(study, layout)) {
      for (std::size_t at : random_order(methods.size(), order_seed, kRunStream + static_cast<std::uint64_t>(block))) {
        add(task_of("run", layout, methods[at], seed));
      }
      ++block;
    }
  }
  if (const std::string& layout = study.get_string("unchecked.workload"); !layout.empty()) {
    add(task_of("run", layout, "unchecked", study.get_int("unchecked.seed")));
  }
}

/// A timing block is one process of every method for one seed; blocks are in random order too.
void add_timing(const Config& study, std::vector<Task>& tasks) {
  const std::string& layout = study.get_string("timing.workload");
  if (layout.empty()) return;
  auto order_seed = static_cast<std::uint64_t>(study.get_int("seed"));
  std::vector<std::int64_t> seeds = seeds_of(study, layout);
  const Words& methods = study.get_list("methods");
  auto rounds = static_cast<std::size_t>(study.get_int("timing.rounds"));
  std::uint64_t stream = kTimingStream;
  for (std::size_t place : random_order(seeds.size() * rounds, order_seed, stream++)) {
    for (std::size_t at : random_order(methods.size(), order_seed, stream++)) {
      Task task = task_of("timing", layout, methods[at], seeds[place % seeds.size()]);
      task.id += fmt::format("/{}", place / seeds.size());
      task.block = static_cast<std::int64_t>(place);
      tasks.push_back(std::move(task));
    }
  }
}

class ApplicationPlanner {
 public:
  explicit ApplicationPlanner(const Workshop& workshop) : workshop_(workshop), study_(workshop.study()) {}

  Planned plan() {
    about_["fingerprints"] = require_all_frozen(study_, print_of_training);
    for (const std::string& name : workload_names(study_)) plan_workload(name);
    store_images();
    Planned planned;
    planned.tasks = outline_application(study_);
    for (Task& task : planned.tasks) complete(task);
    planned.about = std::move(about_);
    planned.notes = std::move(notes_);
    return planned;
  }

 private:
  void plan_workload(const std::string& name) {
    Config config = workload_config(study_, name);
    std::string file = "workloads/" + name + ".yaml";
    workshop_.store(file, config.to_yaml());
    workshop_.note("profiling " + name);
    Json answer = workshop_.run_fresh({{"do", "plan"}, {"config", file}, {"methods", study_.get_list("methods")}});
    workshop_.store("plans/" + name + ".profile.json", answer.at("profile"));
    std::string granularity = config.get_string("recompute.granularity");
    about_["budgets"][name]["whole"] = answer.at("budget");
    std::string line = fmt::format("{}: budget {}, the predicted peak of whole;", name, short_bytes(answer["budget"]));
    for (auto& [method, plan] : answer.at("methods").items()) {
      workshop_.store(plan_file(name, method), plan.at("plan"));
      about_["smallest_feasible"][name][granularity][method] = plan.at("smallest_feasible");
      if (plan.at("at_smallest_feasible"))
        line += fmt::format(" {} at its smallest feasible one, {};", method, short_bytes(plan.at("budget")));
    }
    line.pop_back();
    notes_.push_back(line);
    planned_[name] = std::move(answer);
    steps_[name] = steps_of(config);
  }

  static std::string plan_file(const std::string& name, const std::string& method) {
    return fmt::format("plans/{}.{}.json", name, method);
  }

  /// About how many steps a run has; only the time that is left is said by it.
  std::int64_t steps_of(const Config& config) const {
    std::int64_t images = config.get_int("data.limit");
    if (images == 0) images = study_.get_string("data.path").empty() ? config.get_int("data.synthetic.train") : 50000;
    return config.get_int("train.epochs") *
           std::max<std::int64_t>(1, images / (config.get_int("train.batch") * config.get_int("train.accumulate")));
  }

  /// The images that all runs read, unpacked once: as many as the workload that reads most of them.
  void store_images() {
    const std::string& path = study_.get_string("data.path");
    if (path.empty()) {
      about_["data"] = {{"origin", "synthetic images"}};
      return;
    }
    std::int64_t most = 0;
    for (const std::string& name : workload_names(study_)) {
      std::int64_t limit = workload_config(study_, name).get_int("data.limit");
      if (most >= 0) most = limit == 0 ? -1 : std::max(most, limit);
    }
    Dataset data = read_cifar100(path, most);
    write_cifar100(data, workshop_.folder() / kDataFolder);
    auto print = [](const ImageSet& set) {
      return fingerprint({reinterpret_cast<const char*>(set.records.data()), set.records.size()});
    };
    about_["data"] = {{"origin", "CIFAR-100"},
                      {"train", data.train.size()},
                      {"test", data.test.size()},
                      {"hash", {{"train", print(data.train)}, {"test", print(data.test)}}}};
  }

  void complete(Task& task) {
    std::string layout = task.fields.at("layout"), method = task.fields.at("method");
    bool plans = is_planned(method), unchecked = method == "unchecked";
    const Json& answer = planned_.at(layout);
    Json plan = unchecked ? Json::object() : answer.at("methods").at(method);
    Json overrides = {fmt::format("seed={}", std::int64_t(task.fields.at("seed"))), "recompute.method=" + method};
    if (plans) overrides.push_back(fmt::format("memory.budget={}", std::int64_t(plan.at("budget"))));
    double step = unchecked ? double(answer.at("methods").front().at("predicted_s")) : double(plan.at("predicted_s"));
    task.fields["budget_bytes"] = plans ? plan.at("budget") : Json();
    task.work = {{"do", task.kind}, {"config", "workloads/" + layout + ".yaml"}, {"overrides", overrides}};
    task.work["plan"] = plans || task.kind == "timing" ? Json(plan_file(layout, method)) : Json();
    if (task.kind == "run")
      complete_run(task, plans && plan.at("at_smallest_feasible"), unchecked ? Json() : plan.at("predicted_s"), step);
    else
      complete_timing(task, plan, step);
  }

  void complete_run(Task& task, bool at_smallest, const Json& predicted, double step) {
    constexpr double kBesidesSteps = 1.05;  // evaluations, and the loader on the thread of the run
    task.fields["at_smallest_feasible"] = at_smallest;
    task.work["predicted_s"] = predicted;
    task.work["data"] = study_.get_string("data.path").empty() ? Json() : Json(kDataFolder);
    std::string name = task.id;
    std::replace(name.begin(), name.end(), '/', '-');
    task.work["run"] = "runs/" + name;
    task.expected_s = kBesidesSteps * step * static_cast<double>(steps_.at(task.fields.at("layout")));
  }

  void complete_timing(Task& task, const Json& plan, double step) const {
    constexpr double kBegin = 0.5;  // seconds before the first step
    std::int64_t warmup = study_.get_int("timing.warmup"), timed = study_.get_int("timing.timed");
    task.fields["workload"] = task.fields.at("layout");
    task.fields["budget"] = "whole";
    task.fields["granularity"] = plan.at("granularity");
    task.fields["warmup_steps"] = warmup;
    for (const char* field : {"predicted_s", "lower_bound_s", "predicted_peak_bytes", "at_smallest_feasible"})
      task.fields[field] = plan.at(field);
    task.work["warmup_steps"] = warmup;
    task.work["timed_steps"] = timed;
    task.expected_s = kBegin + step * static_cast<double>(warmup + timed);
  }

  const Workshop& workshop_;
  const Config& study_;
  Json about_ = Json::object();
  std::vector<std::string> notes_;
  std::map<std::string, Json> planned_;        // by workload
  std::map<std::string, std::int64_t> steps_;  // of a run
};

Json plan_json(const Plan& plan, std::int64_t smallest, bool at_smallest) {
  return {{"plan", to_json(plan)},
          {"granularity", plan.granularity},
          {"budget", plan.budget},
          {"at_smallest_feasible", at_smallest},
          {"smallest_feasible", smallest},
          {"predicted_s", static_cast<double>(plan.predicted_ns) * 1e-9},
          {"lower_bound_s", static_cast<double>(plan.lower_bound_ns) * 1e-9},
          {"predicted_peak_bytes", plan.predicted_peak}};
}

}  // namespace

std::vector<Task> outline_application(const Config& study) {
  std::vector<Task> tasks;
  add_runs(study, tasks);
  add_timing(study, tasks);
  for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i].order = static_cast<std::int64_t>(i);
  return tasks;
}

Planned plan_application(const Workshop& workshop) { return ApplicationPlanner(workshop).plan(); }

Json plan_methods(const Json& work, const fs::path& folder) {
  Config config = load_config((folder / std::string(work.at("config"))).string());
  RunPlanner planner(config, profile_of(config, "joint"));
  std::int64_t budget = planner.least("whole").predicted_peak;
  Json answer = {{"profile", to_json(planner.profile())}, {"budget", budget}, {"methods", Json::object()}};
  for (const std::string method : work.at("methods")) {
    if (stop_requested()) throw Interrupted{"planning"};
    Plan least = planner.least(method);
    std::int64_t smallest = least.predicted_peak;
    Planner::Answer found;
    if (is_planned(method)) found = planner.plan(method, budget);
    // A fixed method has but one plan, its least.
    bool none = is_planned(method) && !found.plan;
    answer["methods"][method] = plan_json(found.plan ? *found.plan : least, smallest, none);
  }
  return answer;
}

}  // namespace reprise::study
