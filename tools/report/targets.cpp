// Targets of a study, and what came of each: met or missed, by how much, and why.
#include "tools/report/targets.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tools/report/wording.h"

namespace reprise::report {
namespace {

/// The value of a key below `targets:` in a file that the program wrote; "" where there is none.
std::string value_of(const std::string& settings, const std::string& key) {
  const std::string section = "\ntargets:\n", begin = "  " + key + ": ";
  std::size_t at = settings.find(section);
  if (at == std::string::npos) return "";
  for (at += section.size(); settings.compare(at, 2, "  ") == 0;) {
    std::size_t end = std::min(settings.find('\n', at), settings.size());
    std::string line = settings.substr(at, end - at);
    if (line.starts_with(begin)) return line.substr(begin.size()) == "\"\"" ? "" : line.substr(begin.size());
    at = std::min(end + 1, settings.size());
  }
  return "";
}

/// Measured over predicted time of a step.
std::string off_text(const Place& place, const std::string& method) {
  const Measured& m = place.methods.at(method);
  std::vector<double> wall;
  for (const auto& [block, seconds] : m.wall) wall.push_back(seconds);
  return fmt::format("{} took {} times what was predicted", method, ratio_text(study::median(wall) / m.predicted_s));
}

/// What the plans of both say of a ratio that is above its target.
std::string reason_in_plans(const Target& target, const Place& place, const Ratio& ratio) {
  if (ratio.same_plan) return " Both chose the same plan there, so that nothing but chance is between them.";
  if (!std::isfinite(ratio.predicted)) return "";
  double best = place.methods.at(target.method).lower_bound_s / place.methods.at(target.reference).predicted_s;
  if (best > target.at_most) {
    return fmt::format(
        " No plan of {} could be expected to reach the target: its lower bound is {} of what {} is predicted to take.",
        target.method, ratio_text(best), target.reference);
  }
  if (ratio.predicted > target.at_most) {
    return fmt::format(
        " The planner found no plan of {} that reaches the target; its lower bound, {}, leaves room for one.",
        target.method, ratio_text(best));
  }
  return fmt::format(" By the plans it should have been met: {}, {}.", off_text(place, target.method),
                     off_text(place, target.reference));
}

/// The most bytes of a category during a step of the method; undefined where the study holds no such memory.
double most_of(const Study& study, const std::string& workload, const std::string& method, const char* category) {
  for (const StepMemory& memory : study.memory) {
    if (memory.workload != workload || memory.method != method) continue;
    for (const auto& [name, bytes] : memory.categories) {
      if (name == category && !bytes.empty()) return *std::max_element(bytes.begin(), bytes.end());
    }
  }
  return Measured::kNone;
}

/// A reference that may replay but has no plan below the budget of keeping everything has nothing to gain by replaying:
/// wherever it is feasible, it may keep everything, and no plan takes less time than that.
std::string reason_in_budgets(const Study& study, const Target& target) {
  auto smallest = [&](const std::string& method) {
    return smallest_feasible(study, target.workload, target.granularity, method);
  };
  double reference = smallest(target.reference), retain = smallest("retain"), whole = smallest("whole");
  if (!(reference >= retain)) return "";
  std::string text = fmt::format(
      " The smallest budget of {} is {}, and keeping everything (retain) takes {}: wherever {} has a plan at all, "
      "everything can be kept, and no plan takes less time than that one.",
      target.reference, bytes_text(reference), bytes_text(retain), target.reference);
  if (!(whole > retain)) return text;
  text += fmt::format(" Replaying everything with whole copies of the state takes {}, more than keeping everything",
                      bytes_text(whole));
  double copies = most_of(study, target.workload, "whole", "preserved"),
         kept = most_of(study, target.workload, "retain", "activations");
  if (std::isfinite(copies + kept)) {
    text += fmt::format(": the copies come to {}, the activations that retain keeps to {}", bytes_text(copies),
                        bytes_text(kept));
  }
  return text + ".";
}

/// Why a method was not run there, as its records say.
std::string reason_without_plan(const Study& study, const Target& target) {
  for (const std::string& method : {target.reference, target.method}) {
    for (const study::Record& record : study.records) {
      const Json& json = record.json;
      bool here = record.kind == "process" && record.status == "infeasible" && text_in(json, "method") == method &&
                  text_in(json, "workload") == target.workload && text_in(json, "budget") == target.budget &&
                  text_in(json, "granularity") == target.granularity;
      if (here) return fmt::format(" {} has no plan there: {}.", method, text_in(json, "error"));
    }
  }
  return "";
}

/// The same comparison at other granularities, which has no target.
std::string beside_text(const Target& target, const std::vector<Place>& places) {
  std::string text;
  for (const Place& place : places) {
    bool beside = place.workload == target.workload && place.budget == target.budget &&
                  place.granularity != target.granularity && !place.granularity.empty();
    if (!beside) continue;
    Ratio ratio = ratio_of(place, target.method, target.reference);
    if (ratio.wall.n == 0) continue;
    text += fmt::format(" At granularity {}, without a target: {} over {}, predicted {}.", place.granularity,
                        ratio_text(ratio.wall), counted(ratio.wall.n, "pair", "pairs"), ratio_text(ratio.predicted));
  }
  return text;
}

std::string finding_of(const Study& study, const Target& target, const Place& place) {
  Ratio ratio = ratio_of(place, target.method, target.reference);
  std::string text =
      fmt::format("{}, budget {}: {} : {}", place.workload, budget_text(place), target.method, target.reference);
  if (ratio.wall.n == 0) {
    return text + fmt::format(" has no pair of processes (target: at most {:.2f}).", target.at_most) +
           reason_without_plan(study, target);
  }
  double mean = ratio.wall.geometric_mean;
  bool met = mean <= target.at_most;
  text += fmt::format(" = {} over {} ({}). Target at most {:.2f}: ", ratio_text(ratio.wall),
                      counted(ratio.wall.n, "pair", "pairs"), more_or_less(mean), target.at_most);
  text += met ? "met." : fmt::format("MISSED by {:.4f}.", mean - target.at_most);
  text += fmt::format(" The planner predicted {}; the paper measured {} on an H100.", ratio_text(ratio.predicted),
                      target.paper);
  if (!met) text += reason_in_plans(target, place, ratio) + reason_in_budgets(study, target);
  return text;
}

}  // namespace

std::vector<Target> targets_of(const std::string& settings) {
  std::string workload = "row_memory";
  double to_whole = 0.80, to_region = 0.92;
  if (!settings.empty()) {
    workload = value_of(settings, "workload");
    to_whole = std::strtod(value_of(settings, "joint_to_whole").c_str(), nullptr);
    to_region = std::strtod(value_of(settings, "joint_to_region").c_str(), nullptr);
  }
  if (workload.empty() || to_whole <= 0 || to_region <= 0) return {};
  return {{workload, "both", "segment", "joint", "retain+whole", to_whole, "0.8184, interval [0.8172, 0.8195]"},
          {workload, "tight", "segment", "joint", "region", to_region, "4.98 % faster"}};
}

bool is_at(const Target& target, const Place& place) {
  return target.workload == place.workload && target.budget == place.budget && target.granularity == place.granularity;
}

std::vector<std::string> target_findings(const Study& study, const std::vector<Place>& places,
                                         const std::vector<Target>& targets) {
  std::vector<std::string> findings;
  for (const Target& target : targets) {
    for (const Place& place : places) {
      if (is_at(target, place)) findings.push_back(finding_of(study, target, place) + beside_text(target, places));
    }
  }
  return findings;
}

}  // namespace reprise::report
