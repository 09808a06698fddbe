// Memory over one step, stacked by category, a small picture for each method.
#include <fmt/core.h>

#include <algorithm>

#include "recompute/planning/planner.h"
#include "tools/chart/chart.h"
#include "tools/report/sections.h"
#include "tools/report/wording.h"

namespace reprise::report {
namespace {

/// From what lasts to what comes and goes, so that the lower areas are flat.
constexpr const char* kOrder[] = {"parameters", "gradients",   "optimiser",  "state",    "data",
                                  "preserved",  "activations", "cotangents", "workspace"};

int rank_of(const std::string& category) {
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), category) - std::begin(kOrder));
}

std::vector<double> total_of(const StepMemory& memory) {
  std::vector<double> total(memory.categories.empty() ? 0 : memory.categories.front().second.size());
  for (const auto& [name, bytes] : memory.categories) {
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += bytes[i];
  }
  return total;
}

double peak_of(const StepMemory& memory) {
  std::vector<double> total = total_of(memory);
  return total.empty() ? 0 : *std::max_element(total.begin(), total.end());
}

bool is_used(const std::string& category, const std::vector<const StepMemory*>& all) {
  return std::any_of(all.begin(), all.end(), [&](const StepMemory* memory) {
    return std::any_of(memory->categories.begin(), memory->categories.end(), [&](const auto& entry) {
      return entry.first == category &&
             std::any_of(entry.second.begin(), entry.second.end(), [](double bytes) { return bytes > 0; });
    });
  });
}

/// Of all steps, so that a category has one colour in all of them.
std::vector<std::string> categories_of(const std::vector<const StepMemory*>& all) {
  std::vector<std::string> names;
  for (const StepMemory* memory : all) {
    for (const auto& [name, bytes] : memory->categories) {
      if (std::find(names.begin(), names.end(), name) == names.end() && is_used(name, all)) names.push_back(name);
    }
  }
  std::stable_sort(names.begin(), names.end(),
                   [](const std::string& a, const std::string& b) { return rank_of(a) < rank_of(b); });
  return names;
}

chart::Panel panel_of(const StepMemory& memory, const std::vector<std::string>& categories, double high) {
  chart::Panel panel;
  panel.title = fmt::format("{}: peak {}", memory.method, bytes_text(peak_of(memory)));
  panel.x.unit = chart::Unit::percent;
  panel.x.label = "changes of the live bytes, in % of the step";
  panel.y.unit = chart::Unit::bytes;
  panel.y.high = high;
  panel.height = 150;
  panel.crests = true;
  for (std::size_t slot = 0; slot < categories.size(); ++slot) {
    auto found = std::find_if(memory.categories.begin(), memory.categories.end(),
                              [&](const auto& entry) { return entry.first == categories[slot]; });
    std::size_t length = memory.categories.front().second.size();
    chart::Series& series = panel.series.emplace_back();
    series.kind = chart::SeriesKind::step_area;
    series.name = categories[slot];
    series.slot = rank_of(categories[slot]);  // the same colour in every picture
    for (std::size_t i = 0; i < length; ++i) {
      series.x.push_back(length > 1 ? 100.0 * static_cast<double>(i) / static_cast<double>(length - 1) : 0);
      series.y.push_back(found == memory.categories.end() ? 0 : found->second[i]);
    }
  }
  if (memory.budget > 0) panel.rules.push_back({chart::Along::y, memory.budget, "budget"});
  return panel;
}

/// What is live at the moment of the peak, by category.
void add_table(Document& document, const std::vector<const StepMemory*>& all,
               const std::vector<std::string>& categories) {
  Table table{"Live bytes at the peak of the step, by category", {{"method", false}, {"peak"}, {"budget"}}, {}, {}};
  for (const std::string& name : categories) table.columns.push_back({name});
  for (const StepMemory* memory : all) {
    std::vector<double> total = total_of(*memory);
    auto at = static_cast<std::size_t>(std::max_element(total.begin(), total.end()) - total.begin());
    std::vector<std::string> row{memory->method, bytes_text(total[at]),
                                 memory->budget > 0 ? bytes_text(memory->budget) : ""};
    for (const std::string& name : categories) {
      double bytes = 0;
      for (const auto& [category, live] : memory->categories) bytes += category == name ? live[at] : 0;
      row.push_back(bytes_text(bytes));
    }
    table.rows.push_back(std::move(row));
  }
  document.table(std::move(table));
}

/// The methods of which there is no picture.
std::string undrawn_methods(const std::vector<const StepMemory*>& all) {
  std::string names;
  for (const std::string& method : plannable_methods()) {
    bool drawn =
        std::any_of(all.begin(), all.end(), [&](const StepMemory* memory) { return memory->method == method; });
    if (!drawn) names += (names.empty() ? "" : ", ") + method;
  }
  return names;
}

void add_workload(Document& document, std::vector<const StepMemory*> all, const std::string& workload) {
  std::stable_sort(all.begin(), all.end(),
                   [](const StepMemory* a, const StepMemory* b) { return slot_of(a->method) < slot_of(b->method); });
  double high = 0;
  for (const StepMemory* memory : all) high = std::max({high, peak_of(*memory), memory->budget});
  std::vector<std::string> categories = categories_of(all);
  chart::Chart picture;
  picture.title = "Memory over one step, " + workload;
  picture.subtitle = "live bytes by category, one picture for each method, all at one scale";
  picture.columns = 2;
  picture.one_legend = true;
  for (const StepMemory* memory : all) picture.panels.push_back(panel_of(*memory, categories, high * 1.04));
  document.heading(3, workload);
  if (std::string missing = undrawn_methods(all); !missing.empty()) {
    document.text("Not drawn, since nothing was traced: " + missing +
                  ". `reprise report --memory` traces what is missing, from the study's folder.");
  }
  document.figure(
      file_name("memory " + workload), chart::to_svg(picture),
      "Live bytes over one training step, stacked by category. Forward is the rise, backward the fall; preserved "
      "bytes are what later replays and backward formulas are owed. A picture without a budget is of a method "
      "that has no plan at the budget of the others, or runs without one.");
  add_table(document, all, categories);
}

}  // namespace

void add_memory(Document& document, const Study& study, Findings&) {
  std::vector<std::string> done;
  for (const StepMemory& first : study.memory) {
    if (std::find(done.begin(), done.end(), first.workload) != done.end()) continue;
    std::vector<const StepMemory*> same;
    for (const StepMemory& memory : study.memory) {
      if (memory.workload == first.workload && !memory.categories.empty()) same.push_back(&memory);
    }
    if (same.empty()) continue;
    if (done.empty()) document.heading(2, "Memory over a step");
    done.push_back(first.workload);
    add_workload(document, same, first.workload.empty() ? "one workload" : first.workload);
  }
}

}  // namespace reprise::report
