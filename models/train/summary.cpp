#include "models/train/summary.h"

namespace reprise {

Json make_summary(const SummaryInputs& in, const Json& figures) {
  const RunState& state = in.state;
  Json summary;
  summary["config"] = in.name;
  summary["model"] = in.config.get_string("model.type");
  summary["seed"] = in.config.get_int("seed");
  summary["threads"] = in.threads;
  summary["steps"] = state.step;
  const std::string unit = in.images ? "images" : "examples";
  if (in.images) summary["probe"] = {{"top1", nullptr}, {"top5", nullptr}};
  for (const auto& [key, value] : figures.items()) summary[key] = value;
  summary["train"] = {
      {unit + "_per_second", state.seconds > 0 ? static_cast<double>(state.images) / state.seconds : 0.0},
      {"seconds", state.seconds},
      {unit, state.images},
      {"loss", state.last_loss},
      {"epochs", in.config.get_int("train.epochs")},
      {"batch", in.config.get_int("train.batch")}};
  summary["evaluation"] = {{"seconds", in.evaluation_seconds}};
  summary["memory"] = {{"peak_bytes", state.peak.bytes},
                       {"peak_by_category", categories_json(state.peak.by_category)},
                       {"arena_bytes", state.peak.arena_bytes}};
  Bytes budget = in.config.get_bytes("memory.budget");
  summary["memory"]["budget_bytes"] = budget ? Json(*budget) : Json(nullptr);
  summary["plan"] = {{"method", in.method}, {"predicted_peak_bytes", in.predicted_peak}};
  if (in.plan) {
    summary["plan"]["predicted_step_ms"] = static_cast<double>(in.plan->predicted_ns) * 1e-6;
    summary["plan"]["lower_bound_ms"] = static_cast<double>(in.plan->lower_bound_ns) * 1e-6;
    summary["plan"]["gap"] = in.plan->gap();
  }
  summary["best"] = nullptr;
  if (in.best.is_object())
    summary["best"] = {{"metric", in.best["metric"]}, {"value", in.best["value"]}, {"step", in.best["step"]}};
  summary["hash"] = in.hash;
  return summary;
}

}  // namespace reprise
