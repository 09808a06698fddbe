// What was run, on what and when; what failed and what had no plan; the budgets.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tools/report/sections.h"
#include "tools/report/wording.h"

namespace reprise::report {
namespace {

/// Different values with how often each stands there: "gcc 12.2" or "gcc 12.2 (40 records), gcc 13.1 (2 records)".
std::string values_text(const std::map<std::string, std::int64_t>& counts) {
  if (counts.empty()) return "unknown";
  if (counts.size() == 1) return counts.begin()->first;
  std::string text;
  for (const auto& [value, count] : counts) {
    text += (text.empty() ? "" : "; ") + value + " (" + counted(count, "record", "records") + ")";
  }
  return text;
}

std::string scalar_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "none" : value.dump();
}

/// A place in words, for lists of failures.
std::string where(const Json& json) {
  std::string text;
  auto add = [&](const std::string& part) { text += (text.empty() || part.empty() ? "" : ", ") + part; };
  for (const char* key : {"workload", "budget", "granularity", "layout", "method"}) add(text_in(json, key));
  if (double ratio = number_in(json, "table_ratio"); ratio > 0) {
    add(fmt::format("table ratio {:g}, {:g} % written", ratio, 100 * number_in(json, "written_share")));
  }
  auto seed = json.find("seed");
  if (seed != json.end() && seed->is_number_integer()) add("seed " + seed->dump());
  return text;
}

struct Surroundings {
  std::map<std::string, std::map<std::string, std::int64_t>> versions;
  std::map<std::string, std::int64_t> threads;
  std::vector<double> load;
  std::string first, last;  // UTC; they sort as texts
  double elapsed = 0;
};

Surroundings surroundings_of(const Study& study) {
  Surroundings all;
  for (const study::Record& record : study.records) {
    const Json& json = record.json;
    const Json versions = json.value("versions", Json::object());
    for (const auto& [name, value] : versions.items()) ++all.versions[name][scalar_text(value)];
    if (json.contains("threads")) ++all.threads[scalar_text(json["threads"])];
    double load = number_in(json.value("load", Json::object()), "before");
    if (std::isfinite(load)) all.load.push_back(load);
    double elapsed = number_in(json, "elapsed_s");
    if (elapsed > 0) all.elapsed += elapsed;
    std::string started = text_in(json, "started");
    if (!started.empty() && (all.first.empty() || started < all.first)) all.first = started;
    all.last = std::max(all.last, started);
  }
  return all;
}

void add_facts(Document& document, const Study& study) {
  Surroundings all = surroundings_of(study);
  Table table{"What was run, and on what", {{"", false}, {"", false}}, {}, {}};
  auto row = [&](const std::string& name, const std::string& value) { table.rows.push_back({name, value}); };
  row("study", study.name);
  row("records", study.source + ", " + counted(static_cast<std::int64_t>(study.records.size()), "line", "lines"));
  for (const study::Record& record : study.records) {
    if (record.kind == "study") row("fingerprint of the study", text_in(record.json, "fingerprint"));
  }
  row("begun", fmt::format("{} (first record) to {} (last record)", all.first, all.last));
  row("time in processes", fmt::format("{} in all", seconds_text(all.elapsed)));
  for (const char* name : {"processor", "isa", "reprise", "compiler", "onednn"}) {
    if (all.versions.contains(name)) row(name, values_text(all.versions[name]));
    all.versions.erase(name);
  }
  for (const auto& [name, counts] : all.versions) row(name, values_text(counts));
  row("threads of a process", values_text(all.threads));
  study::Interval load = study::range(all.load);
  if (load.defined()) {
    row("load before a process", fmt::format("median {:.2f}, from {:.2f} to {:.2f} (one-minute average)",
                                             study::median(all.load), load.low, load.high));
  }
  document.table(std::move(table));
}

void add_counts(Document& document, const Study& study) {
  std::map<std::string, std::map<std::string, std::int64_t>> counts;
  for (const study::Record& record : study.records) ++counts[record.kind][record.status];
  Table table{"Records by kind; every one of them is in this report",
              {{"kind", false}, {"ok"}, {"failed"}, {"infeasible, without a process"}, {"all"}},
              {},
              {}};
  std::map<std::string, std::int64_t> sum;
  auto add = [&](const std::string& kind, std::map<std::string, std::int64_t>& of) {
    std::int64_t all = of["ok"] + of["failed"] + of["infeasible"];
    table.rows.push_back(
        {kind, count_text(of["ok"]), count_text(of["failed"]), count_text(of["infeasible"]), count_text(all)});
  };
  for (auto& [kind, of] : counts) {
    add(kind, of);
    for (const auto& [status, count] : of) sum[status] += count;
  }
  add("all", sum);
  document.table(std::move(table));
}

/// A study that has not come to its end is told of first: what follows is of a part of it.
void add_unfinished(Document& document, const Study& study, Findings& findings) {
  if (study.tasks.empty()) return;
  std::map<std::string, std::set<std::string>> done;  // by kind; a task that was tried again counts once
  for (const study::Record& record : study.records) done[record.kind].insert(record.id.substr(0, record.id.find('#')));
  std::int64_t all = 0, have = 0;
  std::string kinds;
  for (const auto& [kind, count] : study.tasks) {
    auto here = static_cast<std::int64_t>(done[kind].size());
    all += count;
    have += here;
    kinds += fmt::format("{}{} {} of {}", kinds.empty() ? "" : ", ", kind, count_text(here), count_text(count));
  }
  if (have >= all) return;
  std::string text = fmt::format("The study is UNFINISHED: {} of its {} have a record ({}).", count_text(have),
                                 counted(all, "task", "tasks"), kinds);
  findings.push_back(text + " What follows is what there is so far.");
  document.text(text);
}

void add_failures(Document& document, const Study& study, Findings& findings) {
  Table table{"Failures, every one", {{"id", false}, {"where", false}, {"block"}, {"line"}, {"error", false}}, {}, {}};
  for (const study::Record& record : study.records) {
    if (record.status != "failed") continue;
    std::string error = text_in(record.json, "error");
    table.rows.push_back({record.id, where(record.json), scalar_text(record.json.value("block", Json())),
                          std::to_string(record.line), error.empty() ? "no reason given" : error});
  }
  if (table.rows.empty()) return;
  auto failed = static_cast<std::int64_t>(table.rows.size());
  findings.push_back(counted(failed, "process", "processes") + " failed; each is listed below.");
  document.table(std::move(table));
}

void add_infeasible(Document& document, const Study& study) {
  std::map<std::pair<std::string, std::string>, std::int64_t> counts;
  for (const study::Record& record : study.records) {
    if (record.status == "infeasible") ++counts[{where(record.json), text_in(record.json, "error")}];
  }
  if (counts.empty()) return;
  Table table{"Where a method has no plan, so that nothing was run",
              {{"where", false}, {"records"}, {"reason", false}},
              {},
              {}};
  for (const auto& [what, count] : counts) table.rows.push_back({what.first, count_text(count), what.second});
  document.table(std::move(table));
}

/// Processes that have the block of another of the same place and method: only the first can be paired.
void add_repeated(Document& document, const Study& study, Findings& findings) {
  std::set<std::string> seen;
  std::vector<std::string> repeated;
  for (const study::Record& record : study.records) {
    bool measures = record.kind == "process" || record.kind == "map_measured" || record.kind == "timing";
    if (!measures || !record.ok()) continue;
    std::string key = record.kind + "/" + where(record.json) + "/" + scalar_text(record.json.value("block", Json()));
    if (!seen.insert(key).second) repeated.push_back(record.id + ": " + where(record.json));
  }
  if (repeated.empty()) return;
  findings.push_back(counted(static_cast<std::int64_t>(repeated.size()), "process repeats", "processes repeat") +
                     " the block and method of an earlier one and is not in the ratios; listed below.");
  document.text("Processes that repeat the block of an earlier one; they are not in the ratios:");
  document.list(std::move(repeated));
}

void add_budgets(Document& document, const Json& about) {
  Table table{"Budgets", {{"workload", false}, {"budget", false}, {"bytes"}, {""}}, {}, {}};
  const Json all = about.value("budgets", Json::object());
  for (const auto& [workload, budgets] : all.items()) {
    if (!budgets.is_object()) continue;
    for (const auto& [name, bytes] : budgets.items()) {
      double value = bytes.is_number() ? bytes.get<double>() : Measured::kNone;
      table.rows.push_back({workload, name, scalar_text(bytes), bytes_text(value)});
    }
  }
  if (!table.rows.empty()) document.table(std::move(table));
}

/// Where the rule of the budgets gives something that a reader would not expect.
void add_budget_remarks(Document& document, const Study& study) {
  const Json all = start_of(study).value("budgets", Json::object());
  std::vector<std::string> remarks;
  for (const auto& [workload, budgets] : all.items()) {
    double both = number_in(budgets, "both"), tight = number_in(budgets, "tight"),
           region = smallest_feasible(study, workload, "segment", "region"),
           whole = smallest_feasible(study, workload, "segment", "retain+whole");
    if (!(tight >= both)) continue;
    remarks.push_back(fmt::format(
        "{}: the smallest budget of region, {}, is above that of retain+whole, {}, so the midpoint of the two, tight, "
        "is not below both, and region has no plan at either.",
        workload, bytes_text(region), bytes_text(whole)));
  }
  document.list(std::move(remarks));
}

void add_smallest(Document& document, const Json& about) {
  std::vector<std::string> methods;
  const Json all = about.value("smallest_feasible", Json::object());
  for (const Json& of_workload : all) {
    for (const Json& of_granularity : of_workload) {
      for (const auto& [method, bytes] : of_granularity.items()) methods.push_back(method);
    }
  }
  methods = in_order(std::move(methods));
  if (methods.empty()) return;
  Table table{"Smallest feasible budget of each method", {{"workload", false}, {"granularity", false}}, {}, {}};
  for (const std::string& method : methods) table.columns.push_back({method});
  for (const auto& [workload, of_workload] : all.items()) {
    for (const auto& [granularity, of_granularity] : of_workload.items()) {
      std::vector<std::string> row{workload, granularity};
      for (const std::string& method : methods) row.push_back(bytes_text(number_in(of_granularity, method.c_str())));
      table.rows.push_back(std::move(row));
    }
  }
  document.table(std::move(table));
}

void add_fingerprints(Document& document, const Json& about) {
  Table table{"Fingerprints of the frozen inputs", {{"workload", false}, {"config", false}, {"trace", false}}, {}, {}};
  const Json all = about.value("fingerprints", Json::object());
  for (const auto& [workload, prints] : all.items()) {
    table.rows.push_back({workload, text_in(prints, "config"), text_in(prints, "trace")});
  }
  if (!table.rows.empty()) document.table(std::move(table));
}

}  // namespace

void add_what_ran(Document& document, const Study& study, Findings& findings) {
  document.heading(2, "What was run");
  add_facts(document, study);
  add_counts(document, study);
  add_unfinished(document, study, findings);
  add_failures(document, study, findings);
  add_infeasible(document, study);
  add_repeated(document, study, findings);
  for (const study::Record& record : study.records) {
    if (record.kind != "study") continue;
    add_fingerprints(document, record.json);
    add_budgets(document, record.json);
    add_budget_remarks(document, study);
    add_smallest(document, record.json);
  }
  if (!study.settings.empty()) document.blocks.push_back(Listing{"The study as resolved, study.yaml", study.settings});
}

}  // namespace reprise::report
