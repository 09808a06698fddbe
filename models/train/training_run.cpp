#include "models/train/training_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/text.h"
#include "models/run/summary_table.h"
#include "models/train/budget.h"
#include "models/train/checkpoint.h"
#include "models/train/not_finite.h"
#include "models/train/summary.h"
#include "models/train/watch_states.h"
#include "recompute/methods.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

/// "knn 41.5".
std::string measured_text(const Json& figures) {
  std::string text;
  for (const auto& [name, value] : figures.items()) {
    if (value.is_number()) text += fmt::format("{}{} {:.6g}", text.empty() ? "" : ", ", name, value.get<double>());
  }
  return text;
}

/// What was measured but is not declared would have no direction.
void require_declared(const Json& figures, const Config& config) {
  for (const Metric& metric : config.measures()) {
    if (figures.contains(metric.name)) continue;
    fail(ErrorKind::internal, "[train] expected model.type {} to measure {}, as its ModelType says, got {}",
         config.get_string("model.type"), metric.name, json_line(figures));
  }
  for (const auto& [name, value] : figures.items()) {
    const std::string& given = name;
    bool known = std::any_of(config.measures().begin(), config.measures().end(),
                             [&](const Metric& metric) { return metric.name == given; });
    if (!known)
      fail(ErrorKind::internal, "[train] expected model.type {} to list {} in the measures of its ModelType",
           config.get_string("model.type"), given);
  }
}

/// A loss or a parameter that is not finite ends the run without an exception's detour through the tape.
struct Diverged {
  std::string message;
};

}  // namespace

std::int64_t TrainingRun::total_steps() const {
  if (full_steps() == 0 && config_.get_int("train.epochs") > 0) {
    throw config_.error_at("train.accumulate",
                           "expected at most the batches of the run, {} (train.epochs x batches of an epoch), got {}: "
                           "no step would be trained. Take a smaller train.accumulate or train.batch",
                           config_.get_int("train.epochs") * batches_.per_epoch(), accumulate_);
  }
  std::int64_t most = config_.get_int("train.max_steps");
  return most > 0 ? std::min(most, full_steps()) : full_steps();
}

void TrainingRun::start_from_checkpoint() {
  const std::string& path = config_.get_string("model.init");
  if (path.empty()) return;
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw config_.error_at("model.init", "no such file or folder. It names a checkpoint, or the folder of a run");
  }
  load_initial(path, session_.model->tensors());
}

void TrainingRun::resume() {
  std::int64_t lines = MetricsLog::kAllLines;
  if (auto saved = read_state(folder_->path())) {
    require_same_seed(*saved, config_);
    load_checkpoint(folder_->path(), *saved, session_.model_name(), checkpoint_tensors());
    complete_checkpoint(folder_->path(), *saved, config_.get_int("train.checkpoints_kept"));
    state_ = RunState::from_json(*saved, session_.model->streams(), (folder_->path() / "state.json").string());
    batches_.seek(state_.position);
    if (saved->contains("best")) best_.from_json((*saved)["best"], (folder_->path() / "state.json").string());
    evaluated_step_ = saved->value("evaluated_step", std::int64_t{0});
    hashed_epoch_ = saved->value("hashed_epoch", std::int64_t{0});
    lines = saved->value("metrics_lines", lines);
    saved_step_ = state_.step;
    name_ = saved->value("config", name_);
    planner_.include_peak(saved->value("predicted_peak_bytes", std::int64_t{0}));
    if (saved->contains("threads") && (*saved)["threads"] != thread_count()) {
      progress_.note(
          fmt::format("note: the run had {} and goes on with {}; its numbers may differ in the last bits from a run "
                      "that was never stopped",
                      counted((*saved)["threads"].get<int>(), "thread"), thread_count()));
    }
  } else if (std::error_code error; fs::exists(folder_->path() / "summary.json", error)) {
    fail(ErrorKind::user,
         "[checkpoint] expected state.json beside summary.json in {}, got none. The run has ended; "
         "without its state it would start anew and its metrics be lost",
         folder_->path().string());
  }
  folder_->metrics().truncate_after(state_.step, lines);  // what came after the checkpoint may be of its step
  time_left_ = TimeLeft(state_.step);
}

void TrainingRun::announce() {
  std::string data;
  if (session_.model->takes_images()) {
    data = fmt::format("{} training images ({}), ", batches_.size_of_epoch(), session_.data.origin);
  }
  progress_.note(fmt::format("{}: {} parameters, {}{} of {} {}, {}", session_.model_name(),
                             session_.model->parameters().element_count(), data, counted(steps_, "step"),
                             config_.get_int("train.batch") * accumulate_, unit(), counted(thread_count(), "thread")));
  if (folder_->began_before()) {
    progress_.note(fmt::format(
        "{} held a run that ended before its first checkpoint and first line of metrics; this one takes its place",
        folder_->path().string()));
  }
  progress_.note(fmt::format("run folder {}{}", folder_->path().string(),
                             state_.step > 0 ? fmt::format(", going on after step {}", state_.step) : std::string()));
  if (recompute_.unchecked()) fmt::print(stderr, "{}\n", kUncheckedWarning);
}

const Batch& TrainingRun::next_batch() {
  TraceStage stage(reports_.tracer(), "wait for the loader");
  return batches_.next();
}

Forward TrainingRun::run_forward(const Batch& batch) {
  {
    TraceStage stage(reports_.tracer(), "schedule");
    const Schedule& schedule = planner_.schedule(session_.model->host_state());
    check_budget(config_, schedule);
    tape_.follow(&schedule);
  }
  watch_states(tape_, *session_.model, optimiser_);
  TraceStage stage(reports_.tracer(), "forward");
  return session_.model->forward(tape_, batch, marks_);
}

double TrainingRun::micro_batch() {
  const Batch& batch = next_batch();
  Forward forward = run_forward(batch);
  double loss = forward.loss.item();
  if (!std::isfinite(loss)) {
    forward = {};
    tape_.clear();
    throw Diverged{fmt::format("the loss of step {} is {}: {}", state_.step + 1,
                               std::isnan(loss) ? "not a number" : "infinite",
                               describe_first_not_finite(*session_.model, batch, session_.memory))};
  }
  {
    TraceStage stage(reports_.tracer(), "backward");
    tape_.backward(forward.loss);
  }
  state_.interval.labels = forward.hits.has_value();
  state_.interval.hits += forward.hits.value_or(0);
  state_.interval.images += batch.size;
  state_.images += batch.size;
  forward = {};
  tape_.clear();
  return loss;
}

void TrainingRun::one_step() {
  auto start = SteadyClock::now();
  reports_.begin_step(tape_, state_.step + 1);
  optimiser_.clear_gradients();
  double loss = 0;
  for (std::int64_t i = 0; i < accumulate_; ++i) loss += micro_batch();
  loss /= static_cast<double>(accumulate_);
  {
    TraceStage stage(reports_.tracer(), "optimiser");
    optimiser_.step(state_.step + 1, schedule_(state_.step), accumulate_);
    session_.model->after_step();
  }
  ++state_.step;
  state_.position = batches_.position();
  state_.last_loss = loss;
  state_.interval.loss += loss;
  ++state_.interval.steps;
  double seconds = seconds_since(start);
  state_.interval.seconds += seconds;
  state_.seconds += seconds;
  state_.peak.include(session_.memory);
  reports_.end_step();
}

void TrainingRun::log_interval() {
  const Interval& interval = state_.interval;
  std::int64_t per_epoch = batches_.per_epoch();
  std::int64_t batches = state_.step * accumulate_;
  Json line = {{"step", state_.step},
               {"epoch", (batches + per_epoch - 1) / per_epoch},
               {"loss", interval.loss / static_cast<double>(interval.steps)}};
  if (interval.labels) {
    line["accuracy"] = 100.0 * static_cast<double>(interval.hits) / static_cast<double>(interval.images);
  }
  line["lr"] = schedule_(state_.step - 1);
  line[fmt::format("{}_per_second", unit())] = static_cast<double>(interval.images) / std::max(interval.seconds, 1e-9);
  line["peak_bytes"] = state_.peak.bytes;
  add_line(std::move(line));
  reports_.memory(state_.step, state_.peak);
  state_.interval = {};
}

void TrainingRun::add_line(Json line) {
  folder_->metrics().append(line);
  measured_.update(line);
  bool evaluates = config_.get_int("eval.knn_every") > 0;
  if (measured_.contains("loss") && (!evaluates || evaluated_step_ > 0)) best_.require_known(measured_);
  if (best_.observe(line)) keep_best();
}

/// False when somebody asked to stop meanwhile: then the measurement is taken when the run goes on.
bool TrainingRun::evaluate_if_due() try {
  std::int64_t every = config_.get_int("eval.knn_every");
  if (every == 0 || state_.step == 0 || evaluated_step_ == state_.step) return true;
  if (state_.step % every != 0 && state_.step != steps_) return true;
  Json figures = session_.model->evaluate_in_training({config_, session_.data, session_.memory, &progress_});
  session_.memory.meter().reset_peak();  // the peak is that of training steps
  require_declared(figures, config_);
  evaluated_step_ = state_.step;
  Json line = {{"step", state_.step}};
  line.update(figures);
  add_line(std::move(line));
  bool best = best_.has_best() && best_.step() == state_.step && figures.contains(best_.metric());
  progress_.note(fmt::format("after step {}: {}{}", state_.step, measured_text(figures), best ? ", the best yet" : ""));
  return true;
} catch (const Interrupted&) {
  return false;
}

/// Of what is trained, of everything in a checkpoint, and of what was predicted, if anything was.
Json TrainingRun::hashes(const ByteHash& predictions) {
  std::vector<NamedTensor> parameters;
  for (const Parameter* p : session_.model->parameters().parameters()) parameters.push_back({p->name, p->leaf->data});
  return {{"parameters", hash_tensors(parameters)},
          {"state", hash_tensors(checkpoint_tensors())},
          {"predictions", predictions.bytes() > 0 ? Json(predictions.text()) : Json(nullptr)}};
}

/// As evaluate_if_due().
bool TrainingRun::hash_epoch_if_due() try {
  std::int64_t epoch = state_.step * accumulate_ / batches_.per_epoch();
  if (!config_.get_bool("train.epoch_hashes") || epoch == hashed_epoch_) return true;
  ByteHash predictions;
  session_.model->predict({config_, session_.data, session_.memory, &progress_, &predictions},
                          config_.get_int("eval.hash_images"));
  session_.memory.meter().reset_peak();  // the peak is that of training steps
  hashed_epoch_ = epoch;
  folder_->metrics().append({{"step", state_.step}, {"epoch", epoch}, {"hash", hashes(predictions)}});
  return true;
} catch (const Interrupted&) {
  return false;
}

void TrainingRun::keep_best() {
  std::vector<NamedTensor> tensors = session_.model->tensors();
  if (const NamedTensor* bad = find_not_finite(tensors))
    throw Diverged{fmt::format("'{}' is not finite after step {}", bad->name, state_.step)};
  save_tensors(folder_->path() / kBestFile, session_.model_name(), state_.step, tensors,
               {{"metric", best_.metric()}, {"value", fmt::format("{}", best_.value())}});
}

void TrainingRun::show(double per_second) {
  std::int64_t per_epoch = batches_.per_epoch();
  ProgressState shown;
  shown.epoch = (state_.step * accumulate_ + per_epoch - 1) / per_epoch;
  shown.epochs = config_.get_int("train.epochs");
  shown.step = state_.step;
  shown.steps = steps_;
  shown.loss = state_.interval.loss / static_cast<double>(state_.interval.steps);  // as the next line of metrics
  shown.per_second = per_second;
  shown.unit = unit();
  shown.peak_bytes = state_.peak.bytes;
  shown.seconds_left = time_left_.seconds(state_.step, steps_);
  progress_.update(shown);
}

void TrainingRun::save() {
  if (saved_step_ == state_.step) return;
  std::vector<NamedTensor> tensors = checkpoint_tensors();
  if (const NamedTensor* bad = find_not_finite(tensors)) {
    throw Diverged{fmt::format("'{}' is not finite after step {}, though the step's loss was", bad->name, state_.step)};
  }
  folder_->metrics().sync();
  Json state = state_.to_json(session_.model->streams());
  state["seed"] = config_.get_int("seed");
  state["threads"] = thread_count();
  state["config"] = name_;
  state["predicted_peak_bytes"] = planner_.highest_peak();
  state["best"] = best_.to_json();
  state["evaluated_step"] = evaluated_step_;
  state["hashed_epoch"] = hashed_epoch_;
  state["metrics_lines"] = folder_->metrics().lines();
  save_checkpoint(folder_->path(), state_.step, session_.model_name(), tensors, std::move(state),
                  config_.get_int("train.checkpoints_kept"));
  saved_step_ = state_.step;
}

/// True at the end of the training, false when somebody asked to stop.
bool TrainingRun::loop() {
  std::int64_t log_every = config_.get_int("train.log_every"), save_every = config_.get_int("train.checkpoint_every");
  session_.memory.meter().reset_peak();
  if (!evaluate_if_due() || !hash_epoch_if_due()) return false;
  while (state_.step < steps_ && !best_.should_stop()) {
    if (stop_requested()) return false;
    one_step();
    show(static_cast<double>(state_.interval.images) / std::max(state_.interval.seconds, 1e-9));
    if (state_.step % log_every == 0 || state_.step == steps_) log_interval();
    if (!evaluate_if_due() || !hash_epoch_if_due()) return false;
    if (save_every > 0 && state_.step % save_every == 0) save();
  }
  if (state_.step < steps_) {
    if (state_.interval.steps > 0) log_interval();
    progress_.note(fmt::format("stopped early after step {}: {} has not become better than {:.6g}, of step {}, in {}",
                               state_.step, best_.metric(), best_.value(), best_.step(),
                               counted(config_.get_int("train.early_stop"), "evaluation")));
  }
  return true;
}

TrainOutcome TrainingRun::interrupted() const {
  return {Ending::interrupted,
          fmt::format("interrupted after step {} of {}; go on with `reprise train --resume {}`", state_.step, steps_,
                      folder_->path().string()),
          folder_->path(),
          {}};
}

TrainOutcome TrainingRun::finish() {
  auto start = SteadyClock::now();
  ByteHash predictions;
  Json figures = session_.model->evaluate({config_, session_.data, session_.memory, &progress_, &predictions});
  progress_.finish();
  SummaryInputs inputs{config_,
                       state_,
                       recompute_.method(),
                       planner_.highest_peak(),
                       made_.plan.get(),
                       steps_,
                       thread_count(),
                       hashes(predictions),
                       seconds_since(start),
                       best_.to_json(),
                       session_.model->takes_images(),
                       name_};
  Json summary = make_summary(inputs, figures);
  folder_->write_summary(summary);
  reports_.finish(state_.step, figures);
  for (const std::string& line : session_.model->describe(figures)) progress_.note(line);
  progress_.note(summary_text(summary) + "summary in " + (folder_->path() / "summary.json").string());
  return {Ending::finished, "", folder_->path(), std::move(summary)};
}

/// Keys that the command line changed stand in config.yaml from now on, since the steps to come follow them. They are
/// also said, as the file no longer tells what the steps before went by.
void TrainingRun::record_changes(RunFolder& folder) {
  Config before = RunFolder::read_config(folder.path());
  if (config_.to_yaml() == before.to_yaml()) return;
  if (std::string text = changes_text(before, config_); !text.empty())
    progress_.note(fmt::format("note: from step {} on {}", state_.step + 1, text));
  Config changed = config_;
  folder.write_config(changed);
}

TrainOutcome TrainingRun::go(RunFolder& folder, bool resumed) {
  folder_ = &folder;
  if (resumed) resume();  // what does not fit the checkpoint leaves the folder as it was
  if (made_.plan) folder.write_text(kPlanFile, to_json(*made_.plan));
  if (made_.profile) folder.write_text(kProfileFile, to_json(*made_.profile));
  if (resumed && state_.step < steps_) record_changes(folder);
  announce();
  if (resumed && state_.step >= steps_) progress_.note("no step is left to train; the run is evaluated again");
  reports_.begin(folder, state_.step);
  try {
    bool ended = loop();
    reports_.end_training();
    save();
    if (!ended) return interrupted();
    progress_.finish();
    return finish();
  } catch (const Diverged& diverged) {
    std::string kept =
        saved_step_ >= 0 ? fmt::format("The checkpoint of step {} stays", saved_step_) : "There is no checkpoint yet";
    return {Ending::diverged, fmt::format("[train] {}. {}", diverged.message, kept), folder_->path(), {}};
  } catch (const Interrupted&) {
    return interrupted();
  }
}

}  // namespace reprise
