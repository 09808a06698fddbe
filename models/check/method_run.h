// MethodRun: a few training steps of one configuration under one method, with everything that must not depend on the
// method taken down as hashes. Two runs are compared line by line; used by check (models/check/check.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/check/effect_log.h"
#include "models/train/session.h"
#include "recompute/planning/plan.h"

namespace reprise {

/// What one node's formula handed back, in backward order.
struct NodeMark {
  std::uint32_t node = 0;
  std::string op;
  std::string segment;  // the part of the model it stands in
  std::uint64_t hash = 0;
};

struct StepMarks {
  double loss = 0;
  std::vector<NodeMark> nodes;  // of all micro-batches
  std::vector<Mark> gradients;  // of each parameter, before the optimiser's step
  std::vector<Mark> states;     // parameters, buffers and optimiser state after the step
  std::vector<Mark> streams;    // positions
  EffectMarks effects;          // the log of writes to state, draws and host effects, with how often each ran
  std::int64_t left_over = 0;   // live bytes after the step beyond those before it
};

struct MethodSettings {
  std::string method = "retain";
  std::shared_ptr<const Plan> plan;  // of a method that plans
  bool segments = true;              // false: none are marked
  std::int64_t batch = 0;            // 0: as configured
  bool guard = false;
  int steps = 3;
};

struct MethodMarks {
  std::vector<StepMarks> steps;
  std::int64_t peak_bytes = 0;
  double seconds = 0;
};

/// A copy of `config` that runs under `settings`.
Config with_settings(const Config& config, const MethodSettings& settings);

/// Trains `settings.steps` steps from the initial values. Errors: as training's; replay and internal from the guard.
MethodMarks run_method(const Config& config, const Dataset& data, const MethodSettings& settings);

/// The first thing in which two runs differ and the op that made it, in words; empty where nothing does. `expected` is
/// the reference.
std::string first_difference(const MethodMarks& expected, const MethodMarks& found);

}  // namespace reprise
