// Optimiser: the update of all trained parameters of a model by one fused loop, with averages moved in the same pass.
// Called by the trainer and checks once per step; allocates in its constructor only.
#pragma once

#include <cstdint>
#include <vector>

#include "models/config/config.h"
#include "models/model.h"
#include "ops/optimiser.h"

namespace reprise {

class Optimiser {
 public:
  /// Makes its state (zero) for the parameters of `model`, as the keys train.* say. Errors (memory).
  Optimiser(const Config& config, TrainableModel& model, Memory& memory);

  void clear_gradients();
  /// Step number `step` (from 1) on gradients that are sums over `micro_batches`. Returns their mean's norm before
  /// clipping, or 0 where train.clip_norm is 0.
  double step(std::int64_t step, double lr, std::int64_t micro_batches);

  /// State by name, behind "optimiser.".
  void list(std::vector<NamedTensor>& out) const;

 private:
  enum class Rule { sgd, adamw, lars };
  static Rule rule_of(const Config& config);

  Rule rule_;
  double momentum_, weight_decay_, trust_, clip_norm_, average_keep_;
  bool nesterov_;
  AdamwOptions adamw_options_;
  std::vector<OptimiserSlot> slots_;
};

}  // namespace reprise
