// StepTimer: how long each node of a real step takes, in its forward, its replay and its backward. Install it on a tape
// (attach), call begin() before a step's forward and end() after all of the step's work; then read medians.
//
// All time between two events counts for the node that the first one names, so nothing of a step is lost.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "autograd/tape.h"
#include "recompute/planning/profile.h"

namespace reprise {

class StepTimer final : public TapeObserver {
 public:
  /// Takes the tape's node hook and observer until detach().
  void attach(Tape& tape);
  void detach();

  void begin();
  void end();
  /// Drops what was measured so far: warm-up steps.
  void forget();

  /// Medians over the steps since forget(), into the times of `profile`. Errors (internal): no step was measured.
  void read(Profile& profile) const;

  void before_replay(const Tape&, std::uint32_t node) override {
    enter(kReplay, node);
    if (runs_.size() <= node) runs_.resize(node + 1, 0);
    ++runs_[node];
  }
  void before_backward(const Tape&, std::uint32_t node) override { enter(kBackward, node); }

 private:
  using Clock = std::chrono::steady_clock;
  enum Phase : std::uint8_t { kForward, kReplay, kBackward, kRest };
  static constexpr int kPhases = 4;

  void enter(Phase phase, std::uint32_t node);
  void close();
  std::vector<std::int64_t>& slot(Phase phase, std::uint32_t node);

  Tape* tape_ = nullptr;
  Phase phase_ = kRest;
  std::uint32_t node_ = 0;
  Clock::time_point last_, start_;
  std::vector<std::int64_t> now_[kPhases];                   // of the step under way
  std::vector<std::vector<std::int64_t>> samples_[kPhases];  // per phase and node: one figure a step
  std::vector<std::int64_t> runs_;                           // replays of each node in the step under way
  std::vector<std::int64_t> steps_, replayed_;
};

}  // namespace reprise
