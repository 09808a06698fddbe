#include <sys/resource.h>

#include <algorithm>
#include <map>

#include "core/interrupt.h"
#include "data/folder.h"
#include "data/text_file.h"
#include "models/train/trainer.h"
#include "tools/study/application.h"

namespace reprise::study {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLongestFile = 64 << 20;

Config config_of_run(const Json& work, const fs::path& folder) {
  std::vector<std::string> overrides;
  for (const Json& word : work.at("overrides")) overrides.push_back(word);
  Config config = load_config((folder / std::string(work.at("config"))).string(), overrides);
  if (work.at("plan").is_string())
    config.set("recompute.plan", (folder / std::string(work["plan"])).string(), "the study");
  if (work.at("data").is_string()) config.set("data.path", (folder / std::string(work["data"])).string(), "the study");
  config.set("run.dir", (folder / std::string(work.at("run"))).string(), "the study");
  return config;
}

/// What a record needs of a run is in small files; the rest is taken away.
void drop_checkpoints(const fs::path& run) {
  std::error_code error;
  for (const fs::path& path : paths_in(run, error)) {
    std::string name = path.filename().string();
    if (name.starts_with("checkpoint") || name.starts_with("state")) fs::remove(path, error);
  }
}

/// Trains to the end; true when an earlier process had begun.
bool train_to_end(Config& config, const fs::path& run) {
  std::error_code error;
  if (fs::exists(run / "summary.json", error)) return true;  // a kill between the end of the run and its record
  bool begun = fs::exists(run / "config.yaml", error);
  TrainOutcome outcome = train(config, {.resume = begun ? run : fs::path(), .progress = ProgressMode::quiet});
  switch (outcome.ending) {
    case Ending::finished: return begun;
    case Ending::interrupted: throw Interrupted{"training; the same command goes on from the checkpoint"};
    case Ending::diverged: break;
  }
  throw Error(ErrorKind::user, outcome.message);
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

Json epochs_of(const fs::path& metrics) {
  std::map<std::int64_t, Json> epochs;
  std::string text = read_text_file(metrics, "study", kLongestFile);
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find('\n', begin), text.size());
    Json line = Json::parse(text.substr(begin, end - begin), nullptr, false);
    begin = end + 1;
    if (!line.is_object() || !line.contains("epoch")) continue;
    Json& epoch = epochs[line["epoch"].get<std::int64_t>()];
    if (line.contains("loss")) epoch["loss"] = line["loss"];
    if (line.contains("hash")) epoch["hash"] = line["hash"];
  }
  Json list = Json::array();
  for (const auto& [number, found] : epochs) {
    if (!found.contains("hash")) continue;  // a run that ends within an epoch
    list.push_back(
        {{"epoch", number}, {"loss", found.contains("loss") ? found["loss"] : Json()}, {"hash", found["hash"]}});
  }
  return list;
}

Json run_training(const Json& work, const fs::path& folder) {
  Config config = config_of_run(work, folder);
  fs::path run = folder / std::string(work.at("run"));
  std::error_code error;
  fs::create_directories(run.parent_path(), error);
  bool resumed = train_to_end(config, run);
  Json summary = Json::parse(read_text_file(run / "summary.json", "study", kLongestFile)), record;
  const Json& memory = summary.at("memory");
  record["epochs"] = epochs_of(run / "metrics.jsonl");
  record["hash"] = summary.at("hash");
  record["probe"] = summary.at("probe");
  record["plan"] = {{"method", summary.at("plan").at("method")},
                    {"predicted_s", work.at("predicted_s")},
                    {"predicted_peak_bytes", summary["plan"].at("predicted_peak_bytes")}};
  record["measured_peak_bytes"] = memory.at("peak_bytes");
  record["activation_peak_bytes"] = memory.at("peak_by_category").at("activations");
  record["peak_by_category"] = memory["peak_by_category"];
  record["steps"] = summary.at("steps");
  record["train_s"] = summary.at("train").at("seconds");
  record["process_cpu_s"] = cpu_seconds();
  record["resumed"] = resumed;
  drop_checkpoints(run);
  return record;
}

}  // namespace reprise::study
