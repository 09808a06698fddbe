#include "models/train/run_reports.h"

#include <type_traits>

namespace reprise {
namespace {

Json setting(const ConfigValue& value) {
  return std::visit(
      [](const auto& v) -> Json {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, Bytes>) {
          return v ? Json(*v) : Json("none");
        } else if constexpr (std::is_same_v<T, WordMap>) {
          Json map = Json::object();
          for (const auto& [key, word] : v) map[key] = word;
          return json_line(map);
        } else if constexpr (std::is_same_v<T, Words> || std::is_same_v<T, Numbers>) {
          return json_line(Json(v));
        } else {
          return v;
        }
      },
      value);
}

}  // namespace

Json flat_settings(const Config& config) {
  Json all = Json::object();
  for (const Key& key : config.keys().keys()) {
    if (!key.name.starts_with("run.")) all[key.name] = setting(config.value(key.name));
  }
  return all;
}

std::string changes_text(const Config& before, const Config& now) {
  const Json old = flat_settings(before), settings = flat_settings(now);
  auto shown = [](const Json& value) {
    bool word = value.is_string() && !value.get_ref<const std::string&>().empty();
    return word ? value.get<std::string>() : json_line(value);
  };
  std::string text;
  for (const auto& [key, value] : settings.items()) {
    if (!old.contains(key) || old[key] == value) continue;
    text += fmt::format("{}{} = {} (was {})", text.empty() ? "" : ", ", key, shown(value), shown(old[key]));
  }
  return text;
}

RunReports::RunReports(const Config& config) : config_(config) {
  if (config.get_bool("trace")) {
    tracer_ = std::make_unique<StepTracer>(config.get_int("trace_steps"), config.get_int("train.batch"));
  }
}

LoaderOptions RunReports::with_trace(LoaderOptions options) {
  if (tracer_) tracer_->listen(options);
  return options;
}

void RunReports::begin(RunFolder& folder, std::int64_t step) {
  folder_ = folder.path();
  if (!config_.get_bool("tensorboard")) return;
  events_ = std::make_unique<EventFile>(folder.path(), step, flat_settings(config_));
  folder.metrics().set_reader([this](const Json& line) {
    Json scalars = line;
    scalars.erase("step");
    scalars.erase("peak_bytes");  // is among the scalars of memory()
    events_->scalars(line["step"].get<std::int64_t>(), "train", scalars);
  });
}

void RunReports::memory(std::int64_t step, const PeakMemory& peak) {
  if (!events_) return;
  Json bytes = categories_json(peak.by_category);
  bytes["total"] = peak.bytes;
  events_->scalars(step, "peak_memory", bytes);
}

void RunReports::begin_step(Tape& tape, std::int64_t step) {
  if (tracer_) tracer_->begin_step(tape, step);
}

void RunReports::end_step() {
  if (!tracer_ || tracer_->done()) return;
  tracer_->end_step();
  if (tracer_->done()) write_trace();
}

void RunReports::end_training() {
  if (tracer_) write_trace();
}

/// A run that goes on with no step left keeps the trace of its steps.
void RunReports::write_trace() {
  if (!trace_written_ && tracer_->begun()) tracer_->write(folder_ / "trace.json");
  trace_written_ = true;
}

void RunReports::finish(std::int64_t step, const Json& figures) {
  if (!events_) return;
  events_->scalars(step, "eval", figures);
  events_->finish();
}

}  // namespace reprise
