// StepPlanner: schedules of a configuration's micro-batches, from dry traces of a twin of its model. Every trained and
// checked step follows one; a host state that moves the regions of a step (a ring's pointer) has a schedule of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "models/train/dry_step.h"

namespace reprise {

class StepPlanner {
 public:
  /// `config` outlives it; `plan` is what a planned method has chosen. Errors: config.
  explicit StepPlanner(const Config& config, std::shared_ptr<const Plan> plan = nullptr);

  /// The schedule of a micro-batch that finds the model's host state (TrainableModel::host_state) as given. Valid until
  /// the next call. Its peak is that of the whole step.
  const Schedule& schedule(const std::vector<std::int64_t>& host_state) {
    const Schedule& schedule = made(host_state);
    highest_peak_ = std::max(highest_peak_, schedule.peak.total_peak);
    return schedule;
  }
  /// The same for the host state of a run that begins.
  const Schedule& first() { return schedule(step_.first_state()); }
  /// The step of the highest peak among all host states that a run can reach.
  MeterSnapshot worst();
  /// The highest peak of the schedules that were asked for by their host state.
  std::int64_t highest_peak() const { return highest_peak_; }
  /// Counts a peak of an earlier part of the run too.
  void include_peak(std::int64_t bytes) { highest_peak_ = std::max(highest_peak_, bytes); }

 private:
  const Schedule& made(const std::vector<std::int64_t>& host_state);

  DryStep step_;
  std::shared_ptr<const Plan> plan_;
  std::map<std::vector<std::int64_t>, Schedule> schedules_;
  std::int64_t highest_peak_ = 0;
};

}  // namespace reprise
