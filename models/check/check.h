// The equivalence check: a model trained a few steps without recomputation and with every method, compared byte for
// byte, and, independently, its gradient against finite differences in f64. What `reprise check` runs; tests of models
// of one's own call it as a library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/check/method_run.h"
#include "recompute/planning/planned_methods.h"

namespace reprise {

struct EquivalenceOptions {
  int steps = 3;
  /// Those that plan do so at a budget halfway between the smallest feasible one and no recomputation.
  std::vector<std::string> methods = plannable_methods();
  bool guarded_step = true;  // one more step per method at check.guard_batch under `guard: on`
  bool finite_differences = true;
  int directions = 3;
};

struct EquivalenceRow {
  std::string what;  // "whole, 3 steps"
  bool good = true;
  std::string difference;  // the first one, or the error
  double seconds = 0;
  std::int64_t peak_bytes = 0;
};

struct EquivalenceReport {
  std::vector<EquivalenceRow> rows;
  bool good() const;
};

/// Errors: config, user, io as training's. A difference, or an error of a method, is a row and no exception.
EquivalenceReport check_model(const Config& config, const EquivalenceOptions& options = {});

/// One directional derivative by central differences in f64, at `check.guard_batch` images.
struct DirectionalCheck {
  double analytic = 0, numeric = 0;
  /// |analytic - numeric| / max(|analytic|, |numeric|, 1e-8).
  double relative_error() const;
};

/// The gradient of the first step's loss under `settings`, against central differences. The model runs in f64; states
/// and streams are put back before each evaluation.
std::vector<DirectionalCheck> check_directions(const Config& config, const Dataset& data,
                                               const MethodSettings& settings, int directions);

}  // namespace reprise
