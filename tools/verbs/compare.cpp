// `reprise compare`: what differs between the configurations of runs, and their figures side by side.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

#include "core/error.h"
#include "core/text.h"
#include "data/text_file.h"
#include "models/run/metrics_log.h"
#include "models/run/run_folder.h"
#include "models/run/summary_table.h"
#include "models/train/run_reports.h"
#include "recompute/json_parse.h"
#include "tools/cli/verb.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCompareHelp =
    R"(Prints, for the runs in the folders given, a column each: the keys of their configurations that differ, what each
run came to (from summary.json), and loss, accuracy and whatever else they measured, at steps that they have in common.
A run that has not ended yet shows "-" where the end is spoken of. Runs of equal parameters are named: their training was
the same, bit for bit.

Examples:
  reprise compare runs/retain runs/region
  reprise compare runs/* --json)";

constexpr std::int64_t kLongestText = 16 << 20;

struct CompareOptions {
  std::vector<std::string> runs;
  int rows = 8;
  bool json = false;
};

struct Run {
  std::string name;
  Json settings, summary;                // null where there is none
  std::map<std::int64_t, Json> metrics;  // by step
};

using Rows = std::vector<std::vector<std::string>>;

Json read_json(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return nullptr;
  Json value = parse_json(read_text_file(path, "compare", kLongestText), "compare", path.string(), "a JSON object");
  if (!value.is_object())
    fail(ErrorKind::user, "[compare] expected a JSON object in {}, got something else", path.string());
  return value;
}

/// By step; empty where there are none yet.
std::map<std::int64_t, Json> metrics_by_step(const fs::path& path) {
  std::error_code error;
  std::map<std::int64_t, Json> lines;
  if (!fs::exists(path, error)) return lines;
  for (const Json& line : read_metrics(path, "compare")) {
    lines[line["step"].get<std::int64_t>()].update(line);  // a step may have several lines
  }
  return lines;
}

Run read_run(const std::string& folder, const std::string& name) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    fail(ErrorKind::user, "[compare] expected the folder of a run, got {}: {}", folder,
         fs::exists(folder, error) ? "it is no folder" : "it does not exist");
  }
  Run run;
  run.name = name;
  run.settings = flat_settings(RunFolder::read_config(folder));
  run.summary = read_json(fs::path(folder) / "summary.json");
  run.metrics = metrics_by_step(fs::path(folder) / "metrics.jsonl");
  return run;
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : json_line(value); }

std::vector<std::string> heading(const std::vector<Run>& runs, const std::string& first) {
  std::vector<std::string> row{first};
  for (const Run& run : runs) row.push_back(run.name);
  return row;
}

/// All keys, in the order in which the runs have them.
std::vector<std::string> all_keys(const std::vector<Run>& runs) {
  std::vector<std::string> keys;
  for (const Run& run : runs) {
    for (const auto& [key, value] : run.settings.items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  return keys;
}

Rows differences(const std::vector<Run>& runs) {
  Rows rows;
  for (const std::string& key : all_keys(runs)) {
    std::vector<std::string> row{key};
    for (const Run& run : runs)
      row.push_back(run.settings.contains(key) ? text_of(run.settings[key]) : "(no such key)");
    if (std::any_of(row.begin() + 2, row.end(), [&](const std::string& cell) { return cell != row[1]; }))
      rows.push_back(row);
  }
  return rows;
}

Rows results(const std::vector<Run>& runs) {
  Rows rows;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    for (const auto& [name, text] : summary_rows(runs[r].summary.is_null() ? Json::object() : runs[r].summary)) {
      auto row =
          std::find_if(rows.begin(), rows.end(), [&, &name = name](const auto& cells) { return cells[0] == name; });
      if (row == rows.end()) {
        rows.emplace_back(runs.size() + 1, "-");
        row = rows.end() - 1;
        row->front() = name;
      }
      (*row)[r + 1] = text;
    }
  }
  return rows;
}

const Json* number_at(const Run& run, std::int64_t step, const std::string& key) {
  auto line = run.metrics.find(step);
  if (line == run.metrics.end() || !line->second.contains(key) || !line->second[key].is_number()) return nullptr;
  return &line->second[key];
}

/// Up to `most` steps at which each of the runs has a number under `key`, evenly spread, the last one among them.
std::vector<std::int64_t> common_steps(const std::vector<const Run*>& runs, const std::string& key, int most) {
  std::vector<std::int64_t> steps, chosen;
  if (runs.empty()) return chosen;
  for (const auto& [step, line] : runs.front()->metrics) {
    bool all = std::all_of(runs.begin(), runs.end(),
                           [&, step = step](const Run* run) { return number_at(*run, step, key) != nullptr; });
    if (all) steps.push_back(step);
  }
  auto count = static_cast<int>(steps.size());
  for (int i = 1; i <= std::min(most, count); ++i) {
    chosen.push_back(steps[static_cast<std::size_t>(static_cast<std::int64_t>(i) * count / std::min(most, count) - 1)]);
  }
  return chosen;
}

/// Those that anywhere have a number under `key`.
std::vector<const Run*> runs_with(const std::vector<Run>& runs, const std::string& key) {
  std::vector<const Run*> some;
  for (const Run& run : runs) {
    bool has = std::any_of(run.metrics.begin(), run.metrics.end(),
                           [&](const auto& line) { return number_at(run, line.first, key) != nullptr; });
    if (has) some.push_back(&run);
  }
  return some;
}

/// What tells how well the runs learn, in the order in which they measured it: loss, accuracy, knn, ...
std::vector<std::string> learning_metrics(const std::vector<Run>& runs) {
  constexpr std::array kOthers = {"step", "epoch", "lr", "peak_bytes", "images_per_second", "examples_per_second"};
  std::vector<std::string> keys;
  for (const Run& run : runs) {
    for (const auto& [step, line] : run.metrics) {
      for (const auto& [key, value] : line.items()) {
        bool other = std::find(kOthers.begin(), kOthers.end(), key) != kOthers.end();
        if (!other && value.is_number() && std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
      }
    }
  }
  return keys;
}

Rows metric_rows(const std::vector<Run>& runs, const std::string& key, int most) {
  Rows rows;
  for (std::int64_t step : common_steps(runs_with(runs, key), key, most)) {
    std::vector<std::string> row{fmt::format("  step {}", step)};
    for (const Run& run : runs) {
      const Json* number = number_at(run, step, key);
      row.push_back(number ? fmt::format("{:.5g}", number->get<double>()) : "-");
    }
    rows.push_back(row);
  }
  return rows;
}

/// Groups of runs that ended with the same parameters.
std::vector<std::string> equal_runs(const std::vector<Run>& runs) {
  std::map<std::string, std::vector<std::string>> by_hash;
  for (const Run& run : runs) {
    const Json& hash = json_at(run.summary, "hash/parameters");
    if (hash.is_string()) by_hash[hash.get<std::string>()].push_back(run.name);
  }
  std::vector<std::string> texts;
  for (const auto& [hash, names] : by_hash) {
    if (names.size() < 2) continue;
    std::string joined;
    for (const std::string& name : names) joined += (joined.empty() ? "" : ", ") + name;
    texts.push_back(fmt::format("the same parameters, bit for bit: {}", joined));
  }
  return texts;
}

void print_part(const std::vector<Run>& runs, const std::string& title, const Rows& rows, const char* none) {
  if (rows.empty()) {
    if (none) std::printf("%s\n\n", none);
    return;
  }
  Rows table{heading(runs, title)};
  table.insert(table.end(), rows.begin(), rows.end());
  std::printf("%s\n", format_table(table).c_str());
}

Json as_json(const std::vector<Run>& runs, int rows) {
  std::vector<const Run*> every;
  for (const Run& run : runs) every.push_back(&run);
  std::vector<std::int64_t> steps = common_steps(every, "step", rows);
  Json all = {{"runs", Json::array()}, {"differing_keys", Json::array()}, {"steps", steps}};
  for (const auto& row : differences(runs)) all["differing_keys"].push_back(row[0]);
  for (const Run& run : runs) {
    Json metrics = Json::array();
    for (std::int64_t step : steps) metrics.push_back(run.metrics.at(step));
    all["runs"].push_back(
        {{"name", run.name}, {"config", run.settings}, {"summary", run.summary}, {"metrics", metrics}});
  }
  return all;
}

int compare(const CompareOptions& options) {
  if (options.runs.size() < 2) fail(ErrorKind::user, "[compare] expected two runs or more, got one");
  std::vector<Run> runs;
  std::vector<std::string> names = names_of_runs(options.runs);
  for (std::size_t i = 0; i < names.size(); ++i) runs.push_back(read_run(options.runs[i], names[i]));
  if (options.json) {
    std::fputs(json_pretty(as_json(runs, options.rows)).c_str(), stdout);
    return 0;
  }
  print_part(runs, "configuration", differences(runs), "configuration: the same");
  print_part(runs, "result", results(runs), nullptr);
  for (const std::string& key : learning_metrics(runs)) {
    print_part(runs, key, metric_rows(runs, key, options.rows), nullptr);
  }
  for (const std::string& text : equal_runs(runs)) std::printf("%s\n", text.c_str());
  return 0;
}

}  // namespace

Verb compare_verb() {
  return {
      "compare", "configurations and figures of several runs side by side", kCompareHelp,
      [](Command& app) -> VerbAction {
        auto options = std::make_shared<CompareOptions>();
        app.add_option("run", options->runs, "the folders of two runs or more").option_text("RUN RUN...").required();
        app.add_option("--rows", options->rows, "how many steps to show (8)").option_text("N").range(1, 10000);
        app.add_flag("--json", options->json, "as JSON");
        return [options] { return compare(*options); };
      }};
}

}  // namespace reprise
