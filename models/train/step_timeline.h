// StepTimeline: every change of the live bytes over one step, and which row of the plan (forward or backward of a
// segment) each belongs to. Recorded on a dry step it is the prediction, on a real one the measurement; the two must be
// equal event by event. Used by `reprise explain` and `reprise report`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "autograd/tape.h"
#include "models/config/config.h"
#include "models/run/json_text.h"
#include "recompute/planning/plan.h"
#include "recompute/units.h"

namespace reprise {

/// Events of one visit of a row, in the order of the step.
struct TimelineRow {
  std::string name;                // "backward of layer1.0", with several micro-batches "..., micro-batch 2"
  std::size_t begin = 0, end = 0;  // of StepTimeline::events
  std::int64_t peak = 0;           // highest live bytes, those that it found included
};

struct StepTimeline {
  CategoryBytes before{};  // live when the step began
  std::vector<MeterEvent> events;
  std::vector<TimelineRow> rows;
  std::int64_t peak = 0;  // highest live bytes
  /// Rows whose peak is within `share` of the highest, each name once.
  std::vector<std::string> binding_rows(double share = 0.01) const;
};

/// In words, the first event in which two timelines differ; empty where none does.
std::string first_difference(const StepTimeline& predicted, const StepTimeline& measured);

/// {before, peak_bytes, rows: [{name, first_event, end_event, peak_bytes, binding}], live, delta, category, op}: the
/// last four have one item an event.
Json timeline_json(const StepTimeline& timeline);

/// Looks on while one step is recorded and run back on a tape. Takes the tape's node hook and observer.
class StepRecorder final : public TapeObserver {
 public:
  void begin(Tape& tape);
  StepTimeline end();

  void before_replay(const Tape& tape, std::uint32_t node) override;
  void before_backward(const Tape& tape, std::uint32_t node) override;

 private:
  void forward_node(std::uint32_t node);
  void enter(std::uint32_t unit);
  void open_row(std::string name, std::size_t at);
  std::size_t now() const { return tape_->memory().meter().timeline().size(); }

  Tape* tape_ = nullptr;
  StepTimeline timeline_;
  /// Rows of the micro-batch under way, which are named when its backward begins.
  std::vector<std::size_t> forward_rows_;
  std::vector<std::size_t> micro_batch_of_;  // per row
  Units units_;
  bool in_forward_ = false;
  std::uint32_t segment_ = kNone, unit_ = kNone;
  std::size_t last_node_end_ = 0, micro_batches_ = 0;
};

/// A real first step of `config` under `plan` (null: its fixed method) on images of noise. Errors: memory.
StepTimeline measure_timeline(const Config& config, const std::shared_ptr<const Plan>& plan);

}  // namespace reprise
