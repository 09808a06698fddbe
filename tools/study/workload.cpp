#include "tools/study/workload.h"

#include "models/train/make_plan.h"
#include "models/train/trace_step.h"
#include "recompute/fingerprint.h"
#include "tools/study/study_type.h"

namespace reprise::study {

std::vector<Key> workload_keys() {
  return {
      map_key("workloads", {}, "what is trained: a name of one's own, and a configuration file beside this one"),
      map_key("overrides", {}, "by workload: key=value words that come after its file"),
      map_key("fingerprints.config", {},
              "by workload: of the keys that shape its step; --print-fingerprints makes them"),
      map_key("fingerprints.trace", {}, "by workload: of the nodes of its step"),
  };
}

Words workload_names(const Config& study) {
  Words names;
  for (const auto& [name, file] : study.get_map("workloads")) names.push_back(name);
  if (names.empty()) throw study.error_at("workloads", "expected at least one workload");
  return names;
}

std::string entry_or(const Config& study, const std::string& key, const std::string& entry,
                     const std::string& otherwise) {
  for (const auto& [name, value] : study.get_map(key)) {
    if (name == entry) return value;
  }
  return otherwise;
}

std::vector<std::string> split_overrides(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  int depth = 0;
  char quote = 0;
  for (char c : text) {
    if (quote != 0)
      quote = c == quote ? 0 : quote;
    else if (c == '\'' || c == '"')
      quote = c;
    else if (c == '[' || c == '{')
      ++depth;
    else if (c == ']' || c == '}')
      --depth;
    if (c == ' ' && quote == 0 && depth == 0) {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
    } else {
      word += c;
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

Config workload_config(const Config& study, const std::string& name, const std::vector<std::string>& more) {
  std::vector<std::string> overrides = split_overrides(entry_or(study, "overrides", name));
  overrides.insert(overrides.end(), more.begin(), more.end());
  try {
    Config config = load_config(beside_study(study, entry_or(study, "workloads", name)), overrides);
    config.set("threads", study.get_int("threads"), "the study");
    config.set("memory.budget", Bytes(), "the study");
    config.set("recompute.plan", std::string(), "the study");
    config.set("recompute.profile", std::string(), "the study");
    config.set("recompute.options", WordMap{}, "the study");
    config.set("recompute.method", std::string("joint"), "the study");
    return config;
  } catch (Error& error) {
    error.add_context(
        fmt::format("while reading the workload {} of {}", name, study.entry_position("workloads", name).text()));
    throw;
  }
}

WorkloadPrint print_of_workload(const Config& workload) {
  std::string text;
  for (const auto& [key, value] : step_keys(workload)) {
    if (key.starts_with("recompute.") || key == "memory.budget" || key == "guard") continue;
    text += key + "=" + value + "\n";
  }
  text += "train.lr=" + value_yaml(*workload.keys().find("train.lr"), workload.value("train.lr")) + "\n";
  return {fingerprint(text), print_of(workload).trace};
}

WorkloadPrint print_of_training(const Config& workload) {
  WorkloadPrint print = print_of_workload(workload);
  std::string text = print.config;
  for (const char* key :
       {"train.epochs",         "train.max_steps",     "train.schedule",      "train.warmup_steps",
        "train.step_epochs",    "train.step_factor",   "train.clip_norm",     "data.limit",
        "data.synthetic.train", "data.synthetic.test", "data.synthetic.seed", "eval.batch",
        "eval.hash_images",     "probe.epochs",        "probe.batch",         "probe.lr",
        "probe.weight_decay",   "probe.labels",        "augment.crop",        "augment.scale_min",
        "augment.scale_max",    "augment.pad",         "augment.flip",        "augment.jitter_probability",
        "augment.jitter",       "augment.hue",         "augment.gray"}) {
    if (workload.has(key))
      text += fmt::format("\n{}={}", key, value_yaml(*workload.keys().find(key), workload.value(key)));
  }
  return {fingerprint(text), print.trace};
}

void require_frozen(const Config& study, const std::string& name, const WorkloadPrint& found) {
  std::string config = entry_or(study, "fingerprints.config", name),
              trace = entry_or(study, "fingerprints.trace", name);
  if (config.empty() || trace.empty()) {
    throw study.error_at_entry("workloads", name,
                               "expected fingerprints.config and fingerprints.trace of the workload {}, there is none. "
                               "`reprise study {} --print-fingerprints` makes them",
                               name, study.file());
  }
  if (config == found.config && trace == found.trace) return;
  std::string differs;
  if (config != found.config)
    differs = fmt::format("its configuration has the fingerprint {} instead of {}", found.config, config);
  if (trace != found.trace) {
    differs +=
        fmt::format("{}its step has the trace {} instead of {}", differs.empty() ? "" : ", and ", found.trace, trace);
  }
  throw study.error_at_entry(
      config != found.config ? "fingerprints.config" : "fingerprints.trace", name,
      "expected the workload {} that the study was frozen with: {}. A study with another workload is another study: "
      "--print-fingerprints makes new ones",
      name, differs);
}

Json require_all_frozen(const Config& study, WorkloadPrint (*print)(const Config&)) {
  Json all;
  for (const std::string& name : workload_names(study)) {
    WorkloadPrint found = print(workload_config(study, name));
    require_frozen(study, name, found);
    all[name] = {{"config", found.config}, {"trace", found.trace}};
  }
  return all;
}

std::string fingerprint_section(const Config& study, WorkloadPrint (*print)(const Config&)) {
  std::string config, trace;
  for (const std::string& name : workload_names(study)) {
    WorkloadPrint found = print(workload_config(study, name));
    config += fmt::format("    {}: \"{}\"\n", name, found.config);
    trace += fmt::format("    {}: \"{}\"\n", name, found.trace);
  }
  return "fingerprints:\n  config:\n" + config + "  trace:\n" + trace;
}

}  // namespace reprise::study
