// Memory over one step, predicted and measured: as a picture, as text and as JSON. Called by `reprise explain` and by
// nothing else; the timelines are recorded by models/train/step_timeline.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "models/run/json_text.h"
#include "models/train/step_timeline.h"

namespace reprise {

struct MemoryPicture {
  std::string title;  // "dense_queue, batch 128, method joint"
  StepTimeline predicted;
  std::optional<StepTimeline> measured;
  std::shared_ptr<const Plan> plan;  // null: a fixed method
  std::int64_t budget = 0;           // bytes; 0: none
  bool exact = true;                 // false: sizes depend on data, and what is predicted is an upper bound

  /// What is wrong with the prediction, in words; empty where it holds (or nothing was measured).
  std::string difference() const;
};

std::string memory_svg(const MemoryPicture& picture);
/// A few lines: predicted and measured peak, whether the two lines are one, the binding steps.
std::string memory_text(const MemoryPicture& picture);
Json memory_json(const MemoryPicture& picture);

}  // namespace reprise
