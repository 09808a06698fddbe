// StepTimer: how long each node of a real step takes, in its forward, its replay and its backward. Install it on a tape
// (attach), call begin() before a step's forward and end() after all of the step's work; then read medians.
//
// All time between two events counts for the node that the first one names, so nothing of a step is lost; but what
// preserving and exchanging take counts for these alone. Room for a time is made when its node or phase begins, so that
// the preserver, which may not fail there, is listened to without taking memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "autograd/tape.h"
#include "memory/preserve_listener.h"
#include "recompute/planning/profile.h"

namespace reprise {

class StepTimer final : public TapeObserver, public PreserveListener {
 public:
  StepTimer() = default;
  ~StepTimer() override { detach(); }
  StepTimer(const StepTimer&) = delete;
  StepTimer& operator=(const StepTimer&) = delete;

  /// Takes the tape's node hook and observer, and listens to the preserver, until detach(). Begins a step.
  void attach(Tape& tape);
  void detach();

  void begin();
  void end();
  /// Drops what was measured so far: warm-up steps.
  void forget();

  /// Medians over the steps since forget(), into the times of `profile`. Errors (internal): no step was measured.
  void read(Profile& profile) const;
  struct Moves {
    std::int64_t preserve_ns = 0, exchange_ns = 0;  // of one step: medians
    std::int64_t steps = 0;
    MovedBytes preserved, exchanged;  // of all these steps together
  };
  /// What was moved since forget(), and how long that took.
  Moves moves() const;

  void before_replay(const Tape&, std::uint32_t node) override {
    enter(kReplay, node);
    if (runs_.size() <= node) runs_.resize(node + 1, 0);
    ++runs_[node];
  }
  void before_backward(const Tape&, std::uint32_t node) override { enter(kBackward, node); }

  // PreserveListener
  void begins(What what, const Storage& storage) noexcept override;
  void ends(const MovedBytes& moved) noexcept override;

 private:
  using Clock = std::chrono::steady_clock;
  enum Phase : std::uint8_t { kForward, kReplay, kBackward, kRest, kPreserve, kExchange };
  static constexpr int kPhases = 6;

  void enter(Phase phase, std::uint32_t node);
  void close() noexcept;
  void scale_to(std::int64_t replayed, std::vector<std::int64_t>& times) const;
  void make_room(Phase phase, std::uint32_t node);

  Tape* tape_ = nullptr;
  Phase phase_ = kRest;
  std::uint32_t node_ = 0;
  Phase outer_phase_ = kRest;  // while something is preserved or exchanged: what that interrupts
  std::uint32_t outer_node_ = 0;
  bool moving_ = false;
  MovedBytes preserved_, exchanged_;
  Clock::time_point last_, start_;
  std::vector<std::int64_t> now_[kPhases];                   // of the step under way
  std::vector<std::vector<std::int64_t>> samples_[kPhases];  // per phase and node: one figure a step
  std::vector<std::int64_t> runs_;                           // replays of each node in the step under way
  std::vector<std::int64_t> steps_, replayed_;
};

}  // namespace reprise
