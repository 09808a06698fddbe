// Readers of JSON documents that this project writes: plans, profiles, contracts, states and metrics of runs.
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "models/config/config.h"
#include "models/run/metrics_log.h"
#include "models/train/best_metric.h"
#include "models/train/checkpoint.h"
#include "models/train/run_state.h"
#include "recompute/contract_diff.h"
#include "recompute/contract_json.h"
#include "recompute/planning/plan.h"
#include "recompute/planning/profile.h"
#include "tests/fuzz/target.h"

namespace reprise::fuzz {
namespace {

/// The word behind `before` in a text.
std::string word_behind(const std::string& text, const std::string& before) {
  std::size_t at = text.find(before);
  if (at == std::string::npos) return "";
  at += before.size();
  return text.substr(at, text.find_first_of(".,: ", at) - at);
}

/// Documents carry fingerprints of themselves, which a change by chance never meets. The reader says which it expected;
/// with those put in, what stands behind the check is reached too.
std::string with_fitting_fingerprints(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("contracts") || !json["contracts"].is_array()) return text;
  for (std::size_t round = 0; round < json["contracts"].size() + 2; ++round) {
    std::string refusal;
    try {
      parse_contracts(json.dump(), kSource);
      return json.dump();
    } catch (const Error& error) {
      refusal = error.what();
    } catch (const nlohmann::json::exception&) {
      return text;  // texts that are no UTF-8
    }
    std::string own = word_behind(refusal, ", got "), trace = word_behind(refusal, "below, trace ");
    if (!trace.empty() && json["fingerprints"].is_object()) {
      json["fingerprints"]["trace"] = trace;
      json["fingerprints"]["contracts"] = word_behind(refusal, " and contracts ");
    } else if (refusal.find("expected contents of fingerprint") != std::string::npos) {
      std::size_t at = std::strtoul(word_behind(refusal, "contracts[").c_str(), nullptr, 10);
      if (at < json["contracts"].size()) json["contracts"][at]["fingerprint"] = own;
    } else {
      return text;
    }
  }
  return text;
}

Config config_with_best() { return parse_config("train: {keep_best: knn}\neval: {knn_every: 1}\n", "fuzz", {}); }

void write_file(const std::filesystem::path& path, Input input) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
}

}  // namespace

void run_plan(Input input) {
  accepts([&] {
    Plan plan = plan_from_json(text_of(input), kSource);
    plan.assignment();
    std::string text = to_json(plan);
    Plan again = plan_from_json(text, kSource);
    expect(again == plan && to_json(again) == text, "another plan when written again");
    require_made_for(plan, plan.made_for, kSource);
  });
}

void run_profile(Input input) {
  accepts([&] {
    Profile profile = profile_from_json(text_of(input), kSource);
    std::string text = to_json(profile);
    Profile again = profile_from_json(text, kSource);
    expect(again == profile && to_json(again) == text, "another profile when written again");
    std::int64_t sum = 0, overflow = 0;
    for (std::size_t node = 0; node < profile.forward_ns.size(); ++node) {
      overflow |= __builtin_add_overflow(sum, profile.replay_of(node), &sum);
    }
    expect(!overflow, "times whose sum is no number");
    profile.copy.of(std::int64_t{1} << 37, std::int64_t{1} << 30);
  });
}

void run_contract(Input input) {
  const std::string text = text_of(input);
  accepts([&] { parse_contracts(text, kSource); });
  accepts([&] {
    ContractDocument document = parse_contracts(with_fitting_fingerprints(text), kSource);
    std::string written = to_json(document);
    ContractDocument again = parse_contracts(written, kSource);
    expect(to_json(again) == written, "another document when written again");
    expect(diff_contracts(document, again, SIZE_MAX).empty(), "differs from itself");
    static const ContractDocument nothing = make_document({}, {});
    diff_contracts(document, nothing, SIZE_MAX);
    diff_contracts(nothing, document, 4);
    ContractDocument backwards = document;
    std::reverse(backwards.contracts.begin(), backwards.contracts.end());
    for (ReplayContract& contract : backwards.contracts) std::reverse(contract.nodes.begin(), contract.nodes.end());
    diff_contracts(document, backwards, SIZE_MAX);
  });
}

/// What a run leaves beside its tensors, and what is read of it when it is resumed.
void run_state(Input input) {
  write_file(scratch_folder() / "state.json", input);
  accepts(
      [&] {
        Json state = read_state(scratch_folder()).value();
        Stream stream{"augment", 3, 1, 0};
        RunState run = RunState::from_json(state, {&stream}, "state.json");
        Json written = run.to_json({&stream});
        written["step"] = run.step;
        Stream same{"augment", 3, 1, 0};
        RunState again = RunState::from_json(written, {&same}, "state.json");
        expect(again.to_json({&same}) == run.to_json({&stream}) && again.step == run.step,
               "another state when written again");
        static const Config config = config_with_best();
        BestMetric best(config), second(config);
        if (!state.contains("best")) return;
        best.from_json(state["best"], "state.json");
        second.from_json(best.to_json(), "state.json");
        expect(second.to_json() == best.to_json() && second.should_stop() == best.should_stop(), "another best metric");
      },
      "state.json");
}

/// metrics.jsonl of a run that is resumed: cut behind a step, or left alone because somebody changed it.
void run_metrics(Input input) {
  const std::filesystem::path path = scratch_folder() / "metrics.jsonl";
  write_file(path, input);
  constexpr std::int64_t kStep = 5;
  MetricsLog log(path);
  try {
    log.truncate_after(kStep);
  } catch (const Error& error) {
    expect(std::string(error.what()).find("metrics.jsonl") != std::string::npos, "a refusal without the file's name");
    expect(std::filesystem::file_size(path) == input.size(), "a refused file was changed");
    return;
  }
  std::ifstream in(path, std::ios::binary);
  std::string kept((std::istreambuf_iterator<char>(in)), {});
  expect(kept == text_of(input).substr(0, kept.size()), "what is kept is not the beginning");
  expect(kept.empty() || kept.back() == '\n', "a torn line was kept");
  std::size_t begin = 0;
  for (std::size_t end; (end = kept.find('\n', begin)) != std::string::npos; begin = end + 1) {
    Json line = Json::parse(kept.substr(begin, end - begin), nullptr, false);
    expect(line.is_object(), "a line was kept that is no object");
  }
  log.append({{"step", kStep}});
}

}  // namespace reprise::fuzz
