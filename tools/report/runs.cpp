// Trainings of an application: equal bytes epoch by epoch, what the encoder learnt, and memory by method.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tools/chart/chart.h"
#include "tools/report/pictures.h"
#include "tools/report/sections.h"
#include "tools/report/wording.h"

namespace reprise::report {
namespace {

/// Records of one layout, by method and seed.
struct Runs {
  std::string layout;
  std::map<std::string, std::map<std::int64_t, const Json*>> ok;
  std::map<std::string, std::int64_t> failed, infeasible;
  std::vector<std::string> methods;
  std::vector<std::int64_t> seeds;
};

std::vector<Runs> runs_of(const Study& study) {
  std::vector<Runs> all;
  for (const study::Record& record : study.records) {
    if (record.kind != "run") continue;
    std::string layout = text_in(record.json, "layout"), method = text_in(record.json, "method");
    auto at = std::find_if(all.begin(), all.end(), [&](const Runs& runs) { return runs.layout == layout; });
    if (at == all.end()) {
      at = all.insert(all.end(), Runs{});
      at->layout = layout;
    }
    at->methods.push_back(method);
    at->failed[method] += record.status == "failed" ? 1 : 0;
    at->infeasible[method] += record.status == "infeasible" ? 1 : 0;
    if (!record.ok()) continue;
    auto seed = record.json["seed"].get<std::int64_t>();
    at->ok[method].emplace(seed, &record.json);
    at->seeds.push_back(seed);
  }
  for (Runs& runs : all) {
    runs.methods = in_order(std::move(runs.methods));
    std::sort(runs.seeds.begin(), runs.seeds.end());
    runs.seeds.erase(std::unique(runs.seeds.begin(), runs.seeds.end()), runs.seeds.end());
  }
  return all;
}

const Json* run_at(const Runs& runs, const std::string& method, std::int64_t seed) {
  auto of_method = runs.ok.find(method);
  if (of_method == runs.ok.end()) return nullptr;
  auto found = of_method->second.find(seed);
  return found == of_method->second.end() ? nullptr : found->second;
}

/// The method that the others are compared with: whole, else the first that has a run of the seed.
std::string reference_of(const Runs& runs, std::int64_t seed) {
  if (run_at(runs, "whole", seed)) return "whole";
  for (const std::string& method : runs.methods) {
    if (method != "unchecked" && run_at(runs, method, seed)) return method;
  }
  return "";
}

struct Agreement {
  std::int64_t equal = 0, epochs = 0, first_difference = 0;  // epoch; 0: none
  bool end_equal = true;                                     // the hashes of the whole run, where both have them
  bool all() const { return equal == epochs && end_equal; }
};

/// Epochs in which parameters, state and predictions of both runs have equal hashes, and the same for the end.
Agreement compare(const Json& run, const Json& reference) {
  Agreement agreement;
  const Json &a = run["epochs"], &b = reference["epochs"];
  agreement.epochs = static_cast<std::int64_t>(std::max(a.size(), b.size()));
  agreement.end_equal = !run.contains("hash") || !reference.contains("hash") || run["hash"] == reference["hash"];
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    bool both = i < a.size() && i < b.size() && a[i].is_object() && b[i].is_object();
    bool equal = both && a[i].contains("hash") && b[i].contains("hash") && a[i]["hash"] == b[i]["hash"];
    if (equal) ++agreement.equal;
    if (equal || agreement.first_difference > 0) continue;
    const Json& epoch = i < a.size() ? a[i] : b[i];
    double number = number_in(epoch, "epoch");
    agreement.first_difference = number > 0 ? static_cast<std::int64_t>(number) : static_cast<std::int64_t>(i) + 1;
  }
  return agreement;
}

struct Equality {
  std::int64_t compared = 0, differing = 0, missing = 0;  // runs
  bool all_equal() const { return differing == 0; }
  std::string unchecked;  // what is said about it; empty: not run
};

std::string cell_of(const Runs& runs, const std::string& method, std::int64_t seed, Equality& equality) {
  const Json* run = run_at(runs, method, seed);
  if (!run) {
    equality.missing += method == "unchecked" ? 0 : 1;
    return "none";
  }
  std::string reference = reference_of(runs, seed);
  if (method == reference)
    return "reference, " + counted(static_cast<std::int64_t>((*run)["epochs"].size()), "epoch", "epochs");
  if (reference.empty()) return "no reference";
  Agreement agreement = compare(*run, *run_at(runs, reference, seed));
  if (agreement.epochs == 0) return "no epochs";
  bool differs = !agreement.all();
  std::string since = agreement.first_difference > 0
                          ? fmt::format("differs from epoch {} on", agreement.first_difference)
                          : "differs at the end";
  std::string text = fmt::format("{} of {} equal", agreement.equal, agreement.epochs);
  if (differs) text += ", " + since;
  if (method == "unchecked") {
    equality.unchecked = differs ? "The control `unchecked` " + since + ", as it must."
                                 : "The control `unchecked` does NOT differ, although it must.";
  } else {
    ++equality.compared;
    equality.differing += differs ? 1 : 0;
  }
  return text;
}

Equality add_equality(Document& document, const Runs& runs) {
  Table table{
      "Epochs after which parameters, state and test predictions are byte-equal to the reference's of the same seed",
      {{"method", false}},
      {},
      {}};
  Equality equality;
  for (std::int64_t seed : runs.seeds) table.columns.push_back({fmt::format("seed {}", seed)});
  for (const std::string& method : runs.methods) {
    std::int64_t before = equality.differing;
    std::vector<std::string> row{method == "unchecked" ? "unchecked (must differ)" : method};
    for (std::int64_t seed : runs.seeds) row.push_back(cell_of(runs, method, seed, equality));
    if (equality.differing > before) table.marked.push_back(table.rows.size());
    table.rows.push_back(std::move(row));
  }
  document.table(std::move(table));
  return equality;
}

std::string percent_text(double value) { return std::isfinite(value) ? fmt::format("{:.2f} %", value) : "none"; }

void add_accuracy(Document& document, const Runs& runs) {
  Table table{"What was learnt: the probe on frozen features, by seed",
              {{"seed"}, {"epochs"}, {"last loss"}, {"top 1"}, {"top 5"}, {"runs with these values"}},
              {},
              {}};
  for (std::int64_t seed : runs.seeds) {
    std::map<std::vector<std::string>, std::int64_t> values;
    for (const std::string& method : runs.methods) {
      const Json* run = run_at(runs, method, seed);
      if (!run || method == "unchecked") continue;
      const Json& epochs = (*run)["epochs"];
      double loss = epochs.empty() ? Measured::kNone : number_in(epochs.back(), "loss");
      const Json probe = run->value("probe", Json::object());
      ++values[{std::to_string(seed), count_text(static_cast<std::int64_t>(epochs.size())),
                std::isfinite(loss) ? fmt::format("{:.6f}", loss) : "none", percent_text(number_in(probe, "top1")),
                percent_text(number_in(probe, "top5"))}];
    }
    for (const auto& [texts, count] : values) {
      std::vector<std::string> row = texts;
      row.push_back(count_text(count));
      table.rows.push_back(std::move(row));
    }
  }
  if (!table.rows.empty()) document.table(std::move(table));
}

double highest(const Runs& runs, const std::string& method, const char* key) {
  double value = Measured::kNone;
  auto found = runs.ok.find(method);
  if (found == runs.ok.end()) return value;
  for (const auto& [seed, json] : found->second) {
    double here = number_in(*json, key);
    if (!(here <= value)) value = std::isnan(here) ? value : here;
  }
  return value;
}

std::string over_text(double value, double reference) {
  double percent = 100 * (value / reference - 1);
  if (!std::isfinite(percent)) return "none";
  return (percent < 0 ? "−" : "+") + fmt::format("{:.2f} %", std::fabs(percent));
}

void add_memory_table(Document& document, const Runs& runs) {
  Table table{"Allocated peak by method: the highest of all seeds, live bytes as the meter counts them",
              {{"method", false},
               {"runs"},
               {"failed"},
               {"infeasible"},
               {"budget"},
               {"at its smallest budget"},
               {"predicted peak"},
               {"peak"},
               {"over whole"},
               {"activations"},
               {"over whole"},
               {"predicted step"}},
              {},
              {}};
  double whole = highest(runs, "whole", "measured_peak_bytes"),
         activations = highest(runs, "whole", "activation_peak_bytes");
  for (const std::string& method : runs.methods) {
    double peak = highest(runs, method, "measured_peak_bytes"),
           of_activations = highest(runs, method, "activation_peak_bytes");
    std::int64_t smallest = 0, count = 0;
    double predicted_peak = Measured::kNone, predicted_s = Measured::kNone;
    auto found = runs.ok.find(method);
    if (found != runs.ok.end()) {
      count = static_cast<std::int64_t>(found->second.size());
      for (const auto& [seed, json] : found->second) {
        smallest += json->value("at_smallest_feasible", Json()) == true ? 1 : 0;
        const Json plan = json->value("plan", Json());
        predicted_peak = std::fmax(predicted_peak, number_in(plan, "predicted_peak_bytes"));
        predicted_s = std::fmax(predicted_s, number_in(plan, "predicted_s"));
      }
    }
    std::string marked = smallest == 0       ? "no"
                         : smallest == count ? "yes"
                                             : fmt::format("{} of {} runs", smallest, count);
    auto number = [](const std::map<std::string, std::int64_t>& of, const std::string& key) {
      return count_text(of.contains(key) ? of.at(key) : 0);
    };
    table.rows.push_back({method, count_text(count), number(runs.failed, method), number(runs.infeasible, method),
                          bytes_text(highest(runs, method, "budget_bytes")), marked, bytes_text(predicted_peak),
                          bytes_text(peak), over_text(peak, whole), bytes_text(of_activations),
                          over_text(of_activations, activations), seconds_text(predicted_s)});
  }
  document.table(std::move(table));
}

void draw_memory(Document& document, const Runs& runs, const std::string& what) {
  std::vector<ForestPoint> points;
  std::vector<std::string> rows;
  for (const std::string& method : runs.methods) {
    double peak = highest(runs, method, "measured_peak_bytes"),
           activations = highest(runs, method, "activation_peak_bytes");
    if (!std::isfinite(peak)) continue;
    rows.push_back(method);
    points.push_back({method, "all live bytes", peak, Measured::kNone, Measured::kNone});
    if (std::isfinite(activations))
      points.push_back({method, "activations alone", activations, Measured::kNone, Measured::kNone});
  }
  if (rows.empty()) return;
  chart::Panel panel = forest_panel(rows, points);
  panel.x.label = "highest peak of a step over all seeds";
  panel.x.unit = chart::Unit::bytes;
  panel.x.zero = true;
  double budget = highest(runs, "joint", "budget_bytes");
  if (std::isfinite(budget)) panel.rules.push_back({chart::Along::x, budget, "budget of joint, " + bytes_text(budget)});
  chart::Chart picture;
  picture.title = "Peak memory by method, " + what;
  picture.legend = chart::LegendPlace::below;
  picture.panels.push_back(std::move(panel));
  document.figure(file_name("peaks " + what), chart::to_svg(picture),
                  "Peak of live bytes in training, and of the activations among them.");
}

void add_categories(Document& document, const Runs& runs) {
  std::vector<std::string> names;
  for (const auto& [method, by_seed] : runs.ok) {
    for (const auto& [seed, json] : by_seed) {
      const Json categories = json->value("peak_by_category", Json::object());
      for (const auto& [name, bytes] : categories.items()) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    }
  }
  if (names.empty()) return;
  Table table{"Highest bytes of each category, over all seeds", {{"method", false}}, {}, {}};
  for (const std::string& name : names) table.columns.push_back({name});
  for (const std::string& method : runs.methods) {
    auto found = runs.ok.find(method);
    if (found == runs.ok.end()) continue;
    std::vector<std::string> row{method};
    for (const std::string& name : names) {
      double most = Measured::kNone;
      for (const auto& [seed, json] : found->second)
        most = std::fmax(most, number_in(json->value("peak_by_category", Json()), name.c_str()));
      row.push_back(bytes_text(most));
    }
    table.rows.push_back(std::move(row));
  }
  document.table(std::move(table));
}

/// Whether joint keeps its budget and is planned to be no slower than whole, and what it holds more or less.
std::string joint_text(const Runs& runs) {
  double joint = highest(runs, "joint", "measured_peak_bytes"), whole = highest(runs, "whole", "measured_peak_bytes");
  double budget = highest(runs, "joint", "budget_bytes");
  std::string text;
  if (std::isfinite(joint / whole))
    text += fmt::format(" Peak of joint over that of whole: {} (the paper: +22.41 %, on an H100).",
                        over_text(joint, whole));
  if (std::isfinite(joint - budget)) {
    text += fmt::format(" joint holds {} of its budget of {}: {}.", bytes_text(joint), bytes_text(budget),
                        joint <= budget ? "it fits" : "it does NOT fit");
  }
  auto predicted = [&](const char* method) {
    auto found = runs.ok.find(method);
    return found == runs.ok.end() ? Measured::kNone
                                  : number_in(found->second.begin()->second->value("plan", Json()), "predicted_s");
  };
  double ratio = predicted("joint") / predicted("whole");
  if (std::isfinite(ratio))
    text += fmt::format(" Predicted time of joint over that of whole: {}{}.", ratio_text(ratio),
                        ratio <= 1 ? "" : ", which is MORE than its plan may take");
  return text;
}

}  // namespace

void add_runs(Document& document, const Study& study, Findings& findings) {
  std::vector<Runs> all = runs_of(study);
  if (all.empty()) return;
  document.heading(2, "Training runs");
  for (const Runs& runs : all) {
    std::string what = "layout " + runs.layout;
    document.heading(3, what);
    Equality equality = add_equality(document, runs);
    std::string text = what + ": ";
    if (equality.compared == 0) {
      text += "no two methods to compare.";
    } else {
      text += fmt::format("{} compared with the reference of their seed, epoch by epoch: {}",
                          counted(equality.compared, "run", "runs"),
                          equality.all_equal() ? "all byte-equal (parameters, state, test predictions)."
                                               : "NOT all byte-equal; see the table.");
    }
    bool control = std::find(runs.methods.begin(), runs.methods.end(), "unchecked") != runs.methods.end();
    if (!equality.unchecked.empty()) text += " " + equality.unchecked;
    if (control && equality.unchecked.empty()) text += " The control `unchecked` has no run to compare.";
    if (equality.missing > 0)
      text += " " + counted(equality.missing, "run is", "runs are") + " missing there, so not compared.";
    text += joint_text(runs);
    findings.push_back(text);
    add_accuracy(document, runs);
    draw_memory(document, runs, what);
    add_memory_table(document, runs);
    add_categories(document, runs);
  }
}

}  // namespace reprise::report
