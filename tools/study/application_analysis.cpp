// The analysis of the study cifar100_dense_queue: from its records to summary.json and tables.
//
//   summary.json   records (kind -> status -> number), failed (ids), seeds (layout, seed, reference, methods, missing,
//   equal, differences), unchecked (differs, where), peaks (layout, method, bytes), joint (layout, fits, predicted
//   ratio), timing (layout, method; over `whole`: n, geometric_mean, bootstrap, log_t, range over seeds; `seeds`),
//   probe (layout, method, seed)
#include <algorithm>
#include <functional>
#include <map>

#include "core/text.h"
#include "tools/study/application.h"
#include "tools/study/application_compare.h"
#include "tools/study/statistics_json.h"

namespace reprise::study {
namespace {

constexpr const char* kReference = "whole";  // of times and memory

/// Seconds a step by round, of the processes of one method and seed.
struct Times {
  std::map<std::int64_t, double> wall, cpu;
};

/// What is known of one method in one layout.
struct MethodRuns {
  std::map<std::int64_t, const Record*> runs;  // by seed
  std::map<std::int64_t, Times> timing;        // by seed
  Json planned;                                // fields of a timing record that come from the plan
};

class ApplicationAnalysis {
 public:
  ApplicationAnalysis(const Config& study, const std::vector<Record>& records)
      : study_(study), records_(records), seed_(static_cast<std::uint64_t>(study.get_int("seed"))) {
    for (const Record& record : records) {
      if (!record.ok() || (record.kind != "run" && record.kind != "timing")) continue;
      const Json& json = record.json;
      MethodRuns& method = layouts_[json.at("layout")][json.at("method")];
      std::int64_t seed = json.at("seed");
      if (record.kind == "run") {
        method.runs[seed] = &record;
      } else {
        method.timing[seed].wall[json.at("block")] = median_of(json.at("wall_s"));
        method.timing[seed].cpu[json.at("block")] = median_of(json.at("cpu_s"));
        method.planned = json;
      }
    }
  }

  Analysis analyse() {
    Json& summary = analysis_.summary;
    summary["schema"] = "reprise-study-summary/1";
    summary["study"] = study_.get_string("name");
    summary["level"] = kLevel;
    summary.update(count_records(records_));
    summary["seeds"] = Json::array();
    for (const auto& [layout, methods] : layouts_) compare_seeds(layout, methods);
    compare_unchecked();
    summary["timing_hashes"] = timing_hashes();
    summary["peaks"] = Json::array();
    summary["timing"] = Json::array();
    summary["joint"] = Json::array();
    summary["probe"] = Json::array();
    for (const auto& [layout, methods] : layouts_) tables(layout, methods);
    return std::move(analysis_);
  }

 private:
  using Methods = std::map<std::string, MethodRuns>;

  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    analysis_.text += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  void wrong(const std::string& text) {
    if (analysis_.wrong.empty()) analysis_.wrong = "[study] " + text;
  }

  /// Methods in the order of the study file, as far as they have records.
  std::vector<std::string> in_order(const Methods& methods) const {
    std::vector<std::string> names;
    for (const std::string& name : study_.get_list("methods")) {
      if (methods.contains(name)) names.push_back(name);
    }
    return names;
  }

  void compare_seeds(const std::string& layout, const Methods& methods) {
    std::map<std::int64_t, std::vector<const Record*>> seeds;
    for (const std::string& name : in_order(methods)) {
      for (const auto& [seed, record] : methods.at(name).runs) seeds[seed].push_back(record);
    }
    std::size_t equal = 0, compared = 0;
    for (const auto& [seed, runs] : seeds) {
      Json differences = Json::array(), names = Json::array();
      for (const Record* run : runs) {
        names.push_back(run->json.at("method"));
        auto difference = first_difference(runs.front()->json, run->json);
        if (!difference) continue;
        differences.push_back(difference_json(*difference, run->json.at("method")));
        wrong(fmt::format("expected equal bytes under all methods with one seed; {} (line {}) and {} (line {}): {}",
                          run->id, run->line, runs.front()->id, runs.front()->line, difference->text()));
        say("{}, seed {}: {} differs from {}: {}", layout, seed, std::string(run->json.at("method")),
            std::string(runs.front()->json.at("method")), difference->text());
      }
      Json missing = missing_of(names);
      for (const Json& method : missing) say("{}, seed {}: no run of {} to compare", layout, seed, std::string(method));
      compared += runs.size() > 1;
      equal += runs.size() > 1 && differences.empty();
      analysis_.summary["seeds"].push_back({{"layout", layout},
                                            {"seed", seed},
                                            {"reference", names.front()},
                                            {"methods", names},
                                            {"missing", missing},
                                            {"epochs", runs.front()->json.at("epochs").size()},
                                            {"equal", differences.empty()},
                                            {"differences", differences}});
    }
    for (std::int64_t seed : seeds_of(study_, layout)) {
      if (!seeds.empty() && !seeds.contains(seed)) say("{}, seed {}: no run to compare", layout, seed);
    }
    if (compared > 0) {
      say("{}: parameters, states and predictions of all methods that ran are the same bytes after every epoch in {} "
          "of {} seeds",
          layout, equal, compared);
    }
  }

  /// Methods of the study that this seed has no run of, though the layout has runs.
  Json missing_of(const Json& ran) const {
    Json missing = Json::array();
    for (const std::string& name : study_.get_list("methods")) {
      if (std::find(ran.begin(), ran.end(), Json(name)) == ran.end()) missing.push_back(name);
    }
    return missing;
  }

  /// Empty where a run has no probe.
  static Json probe_of(const Record& run) {
    Json probe = run.json.value("probe", Json());
    return probe.is_object() ? probe : Json::object();
  }

  static Json difference_json(const Difference& difference, const std::string& method) {
    return {{"method", method},
            {"epoch", difference.epoch > 0 ? Json(difference.epoch) : Json()},
            {"what", difference.what}};
  }

  void compare_unchecked() {
    analysis_.summary["unchecked"] = nullptr;
    for (const auto& [layout, methods] : layouts_) {
      auto unchecked = methods.find("unchecked");
      if (unchecked == methods.end()) continue;
      for (const auto& [seed, record] : unchecked->second.runs) {
        const Record* other = nullptr;
        for (const std::string& name : in_order(methods)) {
          auto found = methods.at(name).runs.find(seed);
          if (found != methods.at(name).runs.end() && other == nullptr) other = found->second;
        }
        if (other == nullptr) continue;
        auto difference = first_difference(other->json, record->json);
        analysis_.summary["unchecked"] = {
            {"layout", layout},
            {"seed", seed},
            {"differs", difference.has_value()},
            {"epoch", difference && difference->epoch > 0 ? Json(difference->epoch) : Json()},
            {"what", difference ? Json(difference->what) : Json()},
            {"top1", probe_of(*record).value("top1", Json())}};
        if (difference)
          say("{}, seed {}: unchecked differs, as it must: {}", layout, seed, difference->text());
        else
          wrong(fmt::format("expected unchecked to differ from {}, since it restores nothing; {} has the same bytes",
                            other->id, record->id));
      }
    }
  }

  /// Timing processes of one seed compute the same bytes under all methods too.
  Json timing_hashes() {
    std::map<std::pair<std::string, std::int64_t>, const Record*> first;
    std::int64_t processes = 0, differing = 0;
    for (const Record& record : records_) {
      if (!record.ok() || record.kind != "timing") continue;
      const Record*& reference = first[{record.json.at("layout"), record.json.at("seed")}];
      if (reference == nullptr) reference = &record;
      ++processes;
      if (record.json.at("hash") == reference->json.at("hash")) continue;
      ++differing;
      wrong(fmt::format("expected equal bytes of {} (line {}) and {} (line {})", record.id, record.line, reference->id,
                        reference->line));
    }
    return {{"processes", processes}, {"differing", differing}};
  }

  void tables(const std::string& layout, const Methods& methods) {
    std::int64_t whole = peak_of(methods, kReference);
    say("\n{:<16}{:>6}{:>12}{:>11}{:>12}{:>10}{:>22}{:>22}{:>10}", layout, "runs", "peak", ": whole", "predicted",
        "time", "interval", "seeds", "planned");
    for (const std::string& name : in_order(methods)) {
      const MethodRuns& method = methods.at(name);
      std::int64_t peak = peak_of(methods, name), predicted = predicted_peak_of(methods, name);
      Json time = timing_json(layout, name, methods);
      if (!method.runs.empty())
        analysis_.summary["peaks"].push_back(peak_json(layout, name, method, peak, predicted, whole));
      for (const auto& [seed, record] : method.runs) {
        Json line = probe_of(*record);
        line["layout"] = layout, line["method"] = name, line["seed"] = seed;
        analysis_.summary["probe"].push_back(std::move(line));
      }
      say("{:<16}{:>6}{:>12}{:>11}{:>12}{:>10}{:>22}{:>22}{:>10}", name + (at_smallest(method) ? " (least)" : ""),
          method.runs.size(), peak > 0 ? short_bytes(peak) : "-",
          peak > 0 && whole > 0 ? fmt::format("{:.4f}", double(peak) / double(whole)) : "-",
          predicted > 0 ? short_bytes(predicted) : "-", text_of(time, "geometric_mean"), range_text(time, "bootstrap"),
          range_text(time, "range"), text_of(time, "predicted"));
      if (!time.is_null()) analysis_.summary["timing"].push_back(std::move(time));
    }
    joint(layout, methods);
  }

  static std::string text_of(const Json& time, const char* key) {
    return time.is_object() && time.contains(key) && time[key].is_number() ? fmt::format("{:.4f}", double(time[key]))
                                                                           : "-";
  }
  static std::string range_text(const Json& time, const char* key) {
    if (!time.is_object() || !time.contains(key) || !time[key][0].is_number() || time[key][0] != time[key][0])
      return "-";
    return bounds_text({time[key][0], time[key][1]});
  }

  static bool at_smallest(const MethodRuns& method) {
    return std::any_of(method.runs.begin(), method.runs.end(),
                       [](const auto& run) { return run.second->json.value("at_smallest_feasible", false); });
  }

  static std::int64_t highest(const Methods& methods, const std::string& name,
                              const std::function<std::int64_t(const Json&)>& bytes) {
    std::int64_t most = 0;
    auto found = methods.find(name);
    if (found == methods.end()) return 0;
    for (const auto& [seed, record] : found->second.runs) most = std::max(most, bytes(record->json));
    return most;
  }
  static std::int64_t peak_of(const Methods& methods, const std::string& name) {
    return highest(methods, name, [](const Json& json) { return json.at("measured_peak_bytes").get<std::int64_t>(); });
  }
  static std::int64_t predicted_peak_of(const Methods& methods, const std::string& name) {
    return highest(methods, name,
                   [](const Json& json) { return std::int64_t(number_or_0(json.at("plan"), "predicted_peak_bytes")); });
  }

  static Json peak_json(const std::string& layout, const std::string& name, const MethodRuns& method, std::int64_t peak,
                        std::int64_t predicted, std::int64_t whole) {
    const Json& first = method.runs.begin()->second->json;
    return {{"layout", layout},
            {"method", name},
            {"measured_peak_bytes", peak},
            {"predicted_peak_bytes", predicted},
            {"activation_peak_bytes", first.at("activation_peak_bytes")},
            {"budget_bytes", first.value("budget_bytes", Json())},
            {"at_smallest_feasible", at_smallest(method)},
            {"to_whole", whole > 0 ? Json(double(peak) / double(whole)) : Json()}};
  }

  /// The ratios of one method's step times to those of `whole`: of each seed, and over seeds. Null without
  /// measurements.
  Json timing_json(const std::string& layout, const std::string& name, const Methods& methods) const {
    auto reference = methods.find(kReference);
    if (reference == methods.end() || methods.at(name).timing.empty() || reference->second.timing.empty())
      return nullptr;
    std::vector<double> wall, cpu;
    Json seeds = Json::array();
    for (const auto& [seed, times] : methods.at(name).timing) {
      auto other = reference->second.timing.find(seed);
      if (other == reference->second.timing.end()) continue;
      std::vector<double> of_wall = paired_ratios(times.wall, other->second.wall),
                          of_cpu = paired_ratios(times.cpu, other->second.cpu);
      if (of_wall.empty()) continue;
      wall.push_back(geometric_mean(of_wall));
      cpu.push_back(geometric_mean(of_cpu));
      seeds.push_back({{"seed", seed},
                       {"wall", wall.back()},
                       {"cpu", cpu.back()},
                       {"n", of_wall.size()},
                       {"unpaired", unpaired_blocks(times.wall, other->second.wall)}});
    }
    Json json = ratio_json(summarise(wall, seed_));
    json["layout"] = layout, json["method"] = name, json["under"] = kReference, json["seeds"] = seeds;
    json["cpu"] = ratio_json(summarise(cpu, seed_));
    json["predicted"] =
        double(methods.at(name).planned.at("predicted_s")) / double(reference->second.planned.at("predicted_s"));
    json["predicted_s"] = methods.at(name).planned.at("predicted_s");
    return json;
  }

  /// The plan of joint fits its budget, in fact too, and is predicted to be no slower than whole.
  void joint(const std::string& layout, const Methods& methods) {
    auto joint = methods.find("joint"), whole = methods.find(kReference);
    if (joint == methods.end() || joint->second.runs.empty()) return;
    const Json& run = joint->second.runs.begin()->second->json;
    Json given = run.value("budget_bytes", Json());
    if (!given.is_number_integer()) return;
    std::int64_t budget = given, measured = peak_of(methods, "joint"), predicted = predicted_peak_of(methods, "joint");
    bool fits = measured <= budget && predicted <= budget;
    Json json = {{"layout", layout},
                 {"budget_bytes", budget},
                 {"predicted_peak_bytes", predicted},
                 {"measured_peak_bytes", measured},
                 {"fits", fits}};
    if (!fits)
      wrong(fmt::format("expected joint to fit its budget of {} bytes ({}), it was predicted to hold {} and held {}",
                        budget, layout, predicted, measured));
    say("{}: joint holds {} of its budget of {}", layout, short_bytes(measured), short_bytes(budget));
    double of_joint = number_or_0(run.at("plan"), "predicted_s"), of_whole = 0;
    if (whole != methods.end() && !whole->second.runs.empty())
      of_whole = number_or_0(whole->second.runs.begin()->second->json.at("plan"), "predicted_s");
    if (of_joint > 0 && of_whole > 0) {
      json["predicted_s"] = of_joint, json["whole_predicted_s"] = of_whole, json["predicted"] = of_joint / of_whole;
      say("{}: predicted time joint : whole {:.4f}", layout, of_joint / of_whole);
      if (of_joint > of_whole)
        wrong(fmt::format("expected the plan of joint to be no slower than whole, {} s against {} s ({})", of_joint,
                          of_whole, layout));
    }
    analysis_.summary["joint"].push_back(std::move(json));
  }

  const Config& study_;
  const std::vector<Record>& records_;
  std::uint64_t seed_;
  std::map<std::string, Methods> layouts_;
  Analysis analysis_;
};

}  // namespace

Analysis analyse_application(const Config& study, const std::vector<Record>& records) {
  return ApplicationAnalysis(study, records).analyse();
}

}  // namespace reprise::study
