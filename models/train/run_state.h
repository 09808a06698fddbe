// RunState: where a run stands, besides its tensors. Saved in state.json and read back by resume; used by the trainer.
// A run that reads it back goes on as if it had never stopped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/stream.h"
#include "data/loader.h"
#include "memory/memory.h"
#include "models/config/config.h"
#include "models/run/json_text.h"

namespace reprise {

/// Sums since the last line of metrics.jsonl.
struct Interval {
  double loss = 0;
  std::int64_t steps = 0, images = 0, hits = 0;
  double seconds = 0;
  bool labels = false;  // whether hits are counted: the model predicts labels
};

/// The highest level of live bytes over all training steps.
struct PeakMemory {
  std::int64_t bytes = 0;
  CategoryBytes by_category{};
  std::int64_t arena_bytes = 0;
  void include(Memory& memory);
};

struct RunState {
  std::int64_t step = 0;    // optimiser steps done
  LoaderPosition position;  // of the next batch
  Interval interval;
  std::int64_t images = 0;  // all images seen, each once per step
  double seconds = 0;       // spent in steps
  double last_loss = 0;
  PeakMemory peak;

  /// With the positions of `streams`.
  Json to_json(const std::vector<Stream*>& streams) const;
  /// Errors (user): a field is missing or of another type, or a stream is not the run's.
  static RunState from_json(const Json& state, const std::vector<Stream*>& streams, const std::string& where);
};

/// A run goes on with the seed that it began with: with another its order of images, its draws and what its model reads
/// would be those of another run. Errors (config): `state` names another seed than `config`.
void require_same_seed(const Json& state, const Config& config);

/// {"parameters": bytes, ...} in the order of the categories.
Json categories_json(const CategoryBytes& bytes);

}  // namespace reprise
