// Two trainings of one seed, epoch by epoch: where their bytes part. Called by the analysis of the application study.
// Bytes are compared by their hashes; what one of the two lacks is a difference too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/run/json_text.h"

namespace reprise::study {

struct Difference {
  std::int64_t epoch = 0;  // the first after which something differs; 0: only at the end of the run
  std::string what;  // "parameters", "state", "predictions", "loss", "number of epochs", "test predictions", "probe"
  /// "state after epoch 3".
  std::string text() const;
};

/// The first thing in which two records of kind `run` differ; nothing where all is equal. `a` is the reference.
std::optional<Difference> first_difference(const Json& a, const Json& b);

}  // namespace reprise::study
