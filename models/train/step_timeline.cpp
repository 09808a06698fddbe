#include "models/train/step_timeline.h"

#include <algorithm>
#include <cstring>

#include "models/train/measure_profile.h"
#include "models/train/run_state.h"

namespace reprise {

namespace {

std::string describe(const MeterEvent& event) {
  return fmt::format("{} {:+} bytes of {} to {}", event.op ? event.op : "outside ops", event.delta,
                     to_string(event.category), event.live);
}

Json row_json(const TimelineRow& row, const StepTimeline& timeline, const std::vector<std::string>& binding) {
  bool binds = std::find(binding.begin(), binding.end(), row.name) != binding.end();
  return {{"name", row.name},
          {"first_event", row.begin},
          {"end_event", row.end},
          {"peak_bytes", row.peak},
          {"binding", binds && row.peak >= timeline.peak - timeline.peak / 100}};
}

bool same(const MeterEvent& a, const MeterEvent& b) {
  bool op = a.op == b.op || (a.op && b.op && std::strcmp(a.op, b.op) == 0);
  return op && a.category == b.category && a.delta == b.delta && a.live == b.live;
}

}  // namespace

std::vector<std::string> StepTimeline::binding_rows(double share) const {
  std::vector<std::string> names;
  for (const TimelineRow& row : rows) {
    bool binds = static_cast<double>(row.peak) >= static_cast<double>(peak) * (1 - share);
    if (binds && std::find(names.begin(), names.end(), row.name) == names.end()) names.push_back(row.name);
  }
  return names;
}

std::string first_difference(const StepTimeline& predicted, const StepTimeline& measured) {
  if (predicted.before != measured.before) return "what is live before the step";
  for (std::size_t i = 0; i < predicted.events.size() && i < measured.events.size(); ++i) {
    if (same(predicted.events[i], measured.events[i])) continue;
    return fmt::format("event {}: predicted {}, measured {}", i, describe(predicted.events[i]),
                       describe(measured.events[i]));
  }
  if (predicted.events.size() == measured.events.size()) return "";
  return fmt::format("predicted {} events, measured {}", predicted.events.size(), measured.events.size());
}

Json timeline_json(const StepTimeline& timeline) {
  Json live = Json::array(), delta = Json::array(), category = Json::array(), op = Json::array(), rows = Json::array();
  for (const MeterEvent& event : timeline.events) {
    live.push_back(event.live);
    delta.push_back(event.delta);
    category.push_back(to_string(event.category));
    op.push_back(event.op ? event.op : "");
  }
  std::vector<std::string> binding = timeline.binding_rows();
  for (const TimelineRow& row : timeline.rows) rows.push_back(row_json(row, timeline, binding));
  return {{"before", categories_json(timeline.before)},
          {"peak_bytes", timeline.peak},
          {"rows", std::move(rows)},
          {"live", std::move(live)},
          {"delta", std::move(delta)},
          {"category", std::move(category)},
          {"op", std::move(op)}};
}

void StepRecorder::begin(Tape& tape) {
  tape_ = &tape;
  Meter& meter = tape.memory().meter();
  meter.clear_timeline();
  meter.record_timeline(true);
  timeline_ = {};
  micro_batch_of_.clear();
  micro_batches_ = 0;
  timeline_.before = meter.snapshot().live;
  timeline_.peak = meter.live();
  tape.set_node_hook([this](std::uint32_t node) { forward_node(node); });
  tape.set_observer(this);
}

StepTimeline StepRecorder::end() {
  Meter& meter = tape_->memory().meter();
  tape_->set_node_hook(nullptr);
  tape_->set_observer(nullptr);
  timeline_.events = meter.timeline();
  meter.record_timeline(false);
  meter.clear_timeline();
  std::int64_t level = timeline_.peak;
  for (std::size_t r = 0; r < timeline_.rows.size(); ++r) {
    TimelineRow& row = timeline_.rows[r];
    row.end = r + 1 < timeline_.rows.size() ? timeline_.rows[r + 1].begin : timeline_.events.size();
    if (micro_batches_ > 1) row.name += fmt::format(", micro-batch {}", micro_batch_of_[r]);
    row.peak = level;
    for (std::size_t i = row.begin; i < row.end; ++i) {
      level = timeline_.events[i].live;
      row.peak = std::max(row.peak, level);
    }
    timeline_.peak = std::max(timeline_.peak, row.peak);
  }
  return std::move(timeline_);
}

void StepRecorder::open_row(std::string name, std::size_t at) {
  timeline_.rows.push_back({std::move(name), at, at, 0});
  micro_batch_of_.push_back(micro_batches_);
}

/// The node has run: what happened since the last one is its own.
void StepRecorder::forward_node(std::uint32_t node) {
  std::uint32_t segment = tape_->data().nodes[node].segment;
  if (node == 0) {
    ++micro_batches_;
    in_forward_ = true;
    unit_ = kNone;
    forward_rows_.clear();
    if (timeline_.rows.empty()) last_node_end_ = 0;
  }
  if (node == 0 || segment != segment_) {
    forward_rows_.push_back(timeline_.rows.size());
    open_row("", last_node_end_);
  }
  segment_ = segment;
  last_node_end_ = now();
}

void StepRecorder::before_replay(const Tape& tape, std::uint32_t node) {
  if (in_forward_) enter(kNone);
  enter(units_.of_replay(tape.data(), node));
}

void StepRecorder::before_backward(const Tape&, std::uint32_t node) {
  if (in_forward_) enter(kNone);
  enter(units_.of_node(node));
}

void StepRecorder::enter(std::uint32_t unit) {
  if (in_forward_) {
    units_ = Units(tape_->data());
    for (std::size_t i = 0; i < forward_rows_.size() && i < units_.size(); ++i) {
      timeline_.rows[forward_rows_[i]].name = units_.forward_name(static_cast<std::uint32_t>(i));
    }
    in_forward_ = false;
    return;
  }
  if (unit != unit_) open_row(units_.backward_name(unit), now());
  unit_ = unit;
  last_node_end_ = now();
}

StepTimeline measure_timeline(const Config& config, const std::shared_ptr<const Plan>& plan) {
  StepRecorder recorder;
  StepTimeline timeline;
  run_one_step(
      config, plan, [&](Tape& tape) { recorder.begin(tape); }, [&] { timeline = recorder.end(); });
  return timeline;
}

}  // namespace reprise
