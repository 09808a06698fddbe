#include "tools/study/application.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "recompute/planning/planner.h"
#include "tools/study/sparse_write.h"
#include "tools/study/workload.h"

namespace reprise::study {
namespace {

std::vector<Key> application_keys() {
  std::vector<Key> keys = workload_keys();
  for (Key& key : std::vector<Key>{
           map_key("seeds", {}, "by workload: the seeds of its runs, such as \"1 2 3\""),
           words_key("methods", plannable_methods(), {}, "methods that take part"),
           text_key("unchecked.workload", "",
                    "workload that also runs with recompute.method=unchecked, which must differ; empty: none"),
           integer_key("unchecked.seed", 1, at_least(0), "", "the seed of that run"),
           text_key("data.path", "", "CIFAR-100, as data.path of a run; empty: the images that the program makes"),
           integer_key("parallel", 2, between(1, 64), "runs", "runs at a time"),
           text_key("timing.workload", "", "the workload whose step times are compared; empty: none"),
           integer_key("timing.rounds", 3, at_least(1), "processes", "timed processes of each method and seed"),
           integer_key("timing.warmup", 2, at_least(0), "steps", "steps of each process before its time is taken"),
           integer_key("timing.timed", 10, at_least(1), "steps", "timed steps of each process; their median counts"),
       }) {
    keys.push_back(std::move(key));
  }
  return keys;
}

void require_workload(const Config& study, const std::string& key) {
  const std::string& name = study.get_string(key);
  Words names = workload_names(study);
  if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) return;
  throw study.error_at(key, "expected one of the workloads {}, got '{}'", fmt::join(names, ", "), name);
}

class Application final : public StudyType {
 public:
  void check(const Config& study) const override {
    for (const std::string& name : workload_names(study)) {
      Config config = workload_config(study, name);
      if (!config.get_bool("train.epoch_hashes")) {
        throw study.error_at_entry(
            "workloads", name,
            "expected a workload with train.epoch_hashes=true, since its bytes are compared after every epoch");
      }
      seeds_of(study, name);
    }
    for (const std::string& method : study.get_list("methods")) {
      if (!allowed_by(method))
        throw study.error_at("methods", "expected methods among {}, got '{}'", fmt::join(plannable_methods(), ", "),
                             method);
    }
    if (study.get_list("methods").empty()) throw study.error_at("methods", "expected at least one method");
    require_workload(study, "unchecked.workload");
    require_workload(study, "timing.workload");
  }

  std::vector<Task> outline(const Config& study) const override { return outline_application(study); }
  Planned plan(const Workshop& workshop) const override { return plan_application(workshop); }

  Json run(const Json& work, const std::filesystem::path& folder) const override {
    std::string what = work.at("do");
    if (what == "plan") return plan_methods(work, folder);
    if (what == "run") return run_training(work, folder);
    if (what == "timing") return run_process(work, folder);
    fail(ErrorKind::user, "[study] expected work that the study cifar100_dense_queue knows, got '{}'", what);
  }

  Analysis analyse(const Config& study, const std::vector<Record>& records) const override {
    return analyse_application(study, records);
  }

  void require_frozen(const Config& study) const override { require_all_frozen(study, print_of_training); }
  std::string fingerprints(const Config& study) const override { return fingerprint_section(study, print_of_training); }
};

}  // namespace

std::vector<std::int64_t> seeds_of(const Config& study, const std::string& workload) {
  std::vector<std::int64_t> seeds;
  for (const std::string& word : split_overrides(entry_or(study, "seeds", workload))) {
    if (word.size() > 9 || word.find_first_not_of("0123456789") != std::string::npos) {
      throw study.error_at_entry("seeds", workload, "expected whole numbers with blanks between them, got '{}'", word);
    }
    seeds.push_back(std::stoll(word));
    if (std::count(seeds.begin(), seeds.end(), seeds.back()) > 1) {
      throw study.error_at_entry("seeds", workload, "expected every seed once, got {} again", word);
    }
  }
  if (seeds.empty()) throw study.error_at("seeds", "expected at least one seed of the workload {}", workload);
  return seeds;
}

RegisteredType cifar100_dense_queue_type() {
  return {{.name = "cifar100_dense_queue",
           .summary = "the dense-queue application trained to the end under every method: equal bytes after every "
                      "epoch, memory, time",
           .keys = application_keys(),
           .defaults = {{"threads", std::int64_t{1}}, {"limit", 100.0 * 60}}},
          [] { return std::make_unique<Application>(); }};
}

}  // namespace reprise::study
