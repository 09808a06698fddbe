#include "tests/tools/report_records.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tools/cohort_view/sha256.h"

namespace reprise::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMethods[] = {"retain",        "whole",        "region", "retain+whole",
                                    "retain+region", "whole+region", "joint"};
constexpr double kMiB = 1024.0 * 1024;

/// A number between -1 and 1 that follows from where it is used.
double wobble(std::int64_t a, std::int64_t b) {
  return std::sin(12.9898 * static_cast<double>(a) + 78.233 * static_cast<double>(b));
}

double seconds_of(std::size_t method, double slack) {
  constexpr double kCost[] = {0.50, 0.74, 0.58, 0.66, 0.54, 0.57, 0.51};
  return kCost[method] * (1 + 0.08 * slack);
}

void add_processes(std::vector<Json>& records, const std::string& workload, std::int64_t blocks, double scale) {
  std::pair<const char*, double> budgets[] = {{"both", 0}, {"tight", 0.6}, {"ladder1", 0.2}, {"ladder2", 0.8}};
  for (const auto& [budget, slack] : budgets) {
    for (std::size_t m = 0; m < std::size(kMethods); ++m) {
      bool infeasible = (m == 0) || (slack > 0.5 && (m == 1 || m == 3));
      if (infeasible) {
        records.push_back(
            without_result(process_of(workload, budget, kMethods[m], 0, 1), "infeasible", "no plan fits the budget"));
        records.back()["budget_bytes"] = static_cast<std::int64_t>((1130 - 350 * slack) * kMiB);
        records.back().erase("lower_bound_s");
        continue;
      }
      for (std::int64_t block = 0; block < blocks; ++block) {
        double seconds = scale * seconds_of(m, slack) * (1 + 0.02 * wobble(static_cast<std::int64_t>(m), block));
        Json record = process_of(workload, budget, kMethods[m], block, seconds);
        double peak = std::round((1100 - 350 * slack + 8 * static_cast<double>(m)) * kMiB);
        record["budget_bytes"] = static_cast<std::int64_t>((1130 - 350 * slack) * kMiB);
        record["predicted_s"] = scale * seconds_of(m, slack) * 1.01;
        record["predicted_peak_bytes"] = static_cast<std::int64_t>(peak);
        record["measured_peak_bytes"] = static_cast<std::int64_t>(peak);
        if (block == 1 && m == 5) record = without_result(record, "failed", "ended by signal 9 <killed> & gone");
        records.push_back(record);
      }
    }
  }
}

void add_map(std::vector<Json>& records) {
  constexpr double kRatios[] = {0.0625, 0.125, 0.25, 0.5, 1, 2, 4}, kShares[] = {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1};
  for (std::size_t r = 0; r < std::size(kRatios); ++r) {
    for (std::size_t s = 0; s < std::size(kShares); ++s) {
      std::string name = fmt::format("{}/{}", kRatios[r], kShares[s]);
      double ratio = kRatios[r], share = kShares[s];
      double whole = 0.2 * (1 + 0.5 * ratio / (1 + ratio)), region = 0.2 * (1 + 0.4 * share),
             joint = std::min(whole, region) * (0.92 + 0.05 * share);
      Json cell = record_of("map", "map/" + name);
      Json where = {{"table_ratio", ratio},
                    {"written_share", share},
                    {"budget_bytes", static_cast<std::int64_t>(100 * kMiB * (1 + ratio))}};
      cell.update(where);
      cell["predicted_s"] = {{"retain+whole", whole}, {"region", region}, {"joint", joint}};
      cell["predicted_peak_bytes"] = {{"retain+whole", 1000}, {"region", 900}, {"joint", 900}};
      cell["smallest_feasible"] = {
          {"retain+whole", 1000 + 400 * ratio}, {"region", 900 + 400 * ratio * share}, {"joint", 880}};
      if (r == 6 && s == 6) cell = without_result(cell, "failed", "out of memory");
      records.push_back(cell);
      if (r % 2 == 1 || s % 2 == 1) continue;
      for (const auto& [method, seconds] : {std::pair{"retain+whole", whole}, {"region", region}, {"joint", joint}}) {
        for (std::int64_t block = 0; block < 3; ++block) {
          Json record =
              process_of("", "", method, block, seconds * (1 + 0.01 * wobble(block, static_cast<std::int64_t>(r + s))));
          record.erase("workload");
          record.erase("budget");
          record["kind"] = "map_measured";
          record["id"] = fmt::format("map_measured/{}/{}/{}", name, method, block);
          record["predicted_s"] = seconds;
          record.update(where);
          records.push_back(record);
        }
      }
    }
  }
}

Json epochs_of(std::int64_t seed, bool wrong) {
  Json epochs = Json::array();
  for (std::int64_t epoch = 1; epoch <= 4; ++epoch) {
    std::string hash = fmt::format("{:016x}", 1000 * seed + epoch + (wrong && epoch > 1 ? 7 : 0));
    epochs.push_back({{"epoch", epoch},
                      {"loss", 4.0 / static_cast<double>(epoch)},
                      {"hash", {{"parameters", hash}, {"state", hash}, {"predictions", hash}}}});
  }
  return epochs;
}

void add_runs(std::vector<Json>& records, const std::string& layout, std::int64_t seeds) {
  std::vector<std::string> methods(std::begin(kMethods), std::end(kMethods));
  methods.push_back("unchecked");
  for (std::size_t m = 0; m < methods.size(); ++m) {
    for (std::int64_t seed = 1; seed <= (m == 7 ? 1 : seeds); ++seed) {
      Json record = record_of("run", fmt::format("run/{}/{}/{}", layout, methods[m], seed));
      auto peak = static_cast<std::int64_t>((60 + 6 * static_cast<double>(m)) * kMiB);
      record.update({{"layout", layout},
                     {"method", methods[m]},
                     {"seed", seed},
                     {"budget_bytes", static_cast<std::int64_t>(105 * kMiB)},
                     {"at_smallest_feasible", m == 0},
                     {"epochs", epochs_of(seed, m == 7)},
                     {"probe", {{"top1", 31.25}, {"top5", 60.5}}},
                     {"plan", {{"method", methods[m]}, {"predicted_s", 0.1}, {"predicted_peak_bytes", peak}}},
                     {"measured_peak_bytes", peak},
                     {"activation_peak_bytes", peak / 2},
                     {"peak_by_category", {{"activations", peak / 2}, {"state", peak / 4}}},
                     {"steps", 64}});
      records.push_back(record);
      if (m == 7) continue;
      for (std::int64_t block = 0; block < 2; ++block) {
        double seconds = 0.1 * seconds_of(m, 0) * (1 + 0.02 * wobble(seed + 5 * block, static_cast<std::int64_t>(m)));
        Json timing = process_of("", "", methods[m], block, seconds);
        timing["predicted_s"] = 0.1 * seconds_of(m, 0);
        timing["kind"] = "timing";
        timing["id"] = fmt::format("timing/{}/{}/{}/{}", layout, methods[m], seed, block);
        timing["layout"] = layout;
        timing["seed"] = seed;
        records.push_back(timing);
      }
    }
  }
}

}  // namespace

Json record_of(const std::string& kind, const std::string& id) {
  Json record = {{"schema", "reprise-study/1"},
                 {"study", "made_up"},
                 {"kind", kind},
                 {"id", id},
                 {"status", "ok"},
                 {"error", nullptr},
                 {"order", 0},
                 {"block", 0},
                 {"started", "2026-01-02T03:04:05Z"},
                 {"elapsed_s", 2.5},
                 {"load", {{"before", 0.25}, {"after", 1.5}}},
                 {"versions",
                  {{"reprise", "0.1.0"},
                   {"compiler", "gcc 12.2"},
                   {"onednn", "2.7"},
                   {"processor", "a processor"},
                   {"isa", "avx2"}}},
                 {"threads", 2}};
  if (kind == "study") record["fingerprint"] = "0123456789abcdef";
  return record;
}

Json process_of(const std::string& workload, const std::string& budget, const std::string& method, std::int64_t block,
                double seconds) {
  Json record = record_of("process", fmt::format("process/{}/{}/segment/{}/{}", workload, budget, method, block));
  record["block"] = block;
  Json times = Json::array();
  for (int step = 0; step < 5; ++step) times.push_back(seconds);
  record.update(
      {{"workload", workload},
       {"budget", budget},
       {"budget_bytes", std::int64_t{1} << 30},
       {"granularity", "segment"},
       {"method", method},
       {"warmup_steps", 2},
       {"wall_s", times},
       {"cpu_s", times},
       {"predicted_s", seconds},
       {"lower_bound_s", 0.9 * seconds},
       {"predicted_peak_bytes", 1000},
       {"measured_peak_bytes", 1000},
       {"rss_peak_bytes", 5000},
       {"hash",
        {{"gradients", "00000000000000aa"}, {"parameters", "00000000000000bb"}, {"state", "00000000000000cc"}}}});
  return record;
}

Json without_result(Json record, const std::string& status, const std::string& error) {
  for (const char* key : {"wall_s", "cpu_s", "measured_peak_bytes", "rss_peak_bytes", "hash", "epochs", "predicted_s",
                          "predicted_peak_bytes"})
    record.erase(key);
  record["status"] = status;
  record["error"] = error;
  return record;
}

std::vector<Json> everything() {
  std::vector<Json> records;
  Json study = record_of("study", "study");
  study["fingerprints"] = {{"row_memory", {{"config", "00000000000000c0"}, {"trace", "00000000000000f0"}}}};
  study["budgets"] = {{"row_memory", {{"both", 1184890880}, {"tight", 964689920}}}};
  study["smallest_feasible"] = {
      {"row_memory", {{"segment", {{"retain", nullptr}, {"retain+whole", 1161657548}, {"joint", 700000000}}}}}};
  records.push_back(study);
  add_processes(records, "row_memory", 6, 1);
  add_processes(records, "slot_cache", 3, 0.7);
  add_map(records);
  add_runs(records, "shift", 3);
  add_runs(records, "ring", 1);
  return records;
}

std::vector<Json> small_study() {
  std::vector<Json> records{record_of("study", "study")};
  double joint[] = {0.8, 0.9, 0.7}, whole[] = {1, 1, 1, 1};
  for (int block = 0; block < 3; ++block)
    records.push_back(process_of("row_memory", "both", "joint", block, joint[block]));
  for (int block = 0; block < 4; ++block)
    records.push_back(process_of("row_memory", "both", "retain+whole", block, whole[block]));
  records[6] = without_result(records[6], "failed", "ended by signal 9");
  records.push_back(without_result(process_of("row_memory", "both", "retain", 0, 1), "infeasible", "needs 3 GiB"));
  return records;
}

Json memory_of(const std::string& method) {
  double kept = 1 + 4.0 / static_cast<double>(method.size());
  Json parameters = Json::array(), activations = Json::array(), preserved = Json::array(), workspace = Json::array();
  for (int i = 0; i <= 400; ++i) {
    double up = i < 200 ? i / 200.0 : (400 - i) / 200.0;
    parameters.push_back(static_cast<std::int64_t>(10 * kMiB));
    preserved.push_back(static_cast<std::int64_t>(kMiB * 3 * std::floor(up * 8)));
    activations.push_back(static_cast<std::int64_t>(kMiB * (kept * 8 * up + (i % 7))));
    workspace.push_back(static_cast<std::int64_t>(i % 11 == 0 ? 4 * kMiB : 0));
  }
  return {{"workload", "row_memory"},
          {"method", method},
          {"budget_bytes", static_cast<std::int64_t>(64 * kMiB)},
          {"categories",
           {{"parameters", parameters},
            {"activations", activations},
            {"preserved", preserved},
            {"workspace", workspace},
            {"data", Json(std::vector<int>(401, 0))}}}};
}

std::string lines_of(const std::vector<Json>& records) {
  std::string text;
  for (const Json& record : records) text += json_line(record) + "\n";
  return text;
}

fs::path report_folder(const std::string& name) { return process_folder("report_" + name); }

fs::path study_of(const std::string& name, const std::vector<Json>& records) {
  fs::path folder = report_folder(name);
  fs::create_directories(folder / "extra");
  write_text(folder / "records.jsonl", lines_of(records));
  write_text(folder / "study.yaml",
             "type: sparse_write\ntargets:\n  workload: row_memory\n  joint_to_whole: 0.8\n  joint_to_region: "
             "0.92\nname: made_up\nseed: 7\n");
  for (const char* method : kMethods)
    write_text(folder / "extra" / (std::string(method) + ".json"), json_line(memory_of(method)) + "\n");
  return folder;
}

fs::path cohort_of(const std::string& name, const std::function<std::string(const std::string&)>& edit) {
  fs::path folder = report_folder(name);
  auto hash_of = [](const std::string& text) {
    return cohort::sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  std::string programs;
  for (int p = 0; p < 4; ++p) programs += json_line({{"name", fmt::format("p{}", p)}, {"program", {{"a", p}}}}) + "\n";
  write_text(folder / "programs.jsonl", programs);
  Json manifest = {{"schema", "reprise-cohort/1"},
                   {"command", "tools/cohort/run --seed 1"},
                   {"versions", {{"torch", "2.15.0"}}},
                   {"public", 3},
                   {"programs", {{"file", "programs.jsonl"}, {"sha256", hash_of(programs)}, {"lines", 4}}},
                   {"records", 8},
                   {"modes", Json::array()}};
  const char* verdicts[2][4] = {{"silent", "state", "reject_needless", "match"},
                                {"match", "match", "reject_allowed", "match"}};
  const char* names[2] = {"torch_nonreentrant", "reprise_region"};
  for (int m = 0; m < 2; ++m) {
    std::string lines, file = std::string(names[m]) + ".jsonl";
    for (int p = 0; p < 4; ++p) {
      Json none = Json::object();
      lines += json_line({{"id", fmt::format("p{}@{}", p, names[m])},
                          {"program", fmt::format("p{}", p)},
                          {"class", p < 2 ? "C01" : "C05"},
                          {"mode", names[m]},
                          {"verdict", verdicts[m][p]},
                          {"detail", ""},
                          {"seconds", 0.5},
                          {"grads", none},
                          {"buffers", none},
                          {"streams", none},
                          {"cells", none}}) +
               "\n";
    }
    if (m == 1 && edit) lines = edit(lines);
    write_text(folder / file, lines);
    manifest["modes"].push_back({{"mode", names[m]},
                                 {"framework", m == 0 ? "PyTorch" : "Reprise"},
                                 {"about", "about it"},
                                 {"file", file},
                                 {"sha256", hash_of(lines)},
                                 {"lines", std::count(lines.begin(), lines.end(), '\n')}});
  }
  write_text(folder / "manifest.json", json_pretty(manifest));
  return folder;
}

}  // namespace reprise::testing
