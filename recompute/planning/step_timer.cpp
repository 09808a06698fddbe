#include "recompute/planning/step_timer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "recompute/planning/median.h"

namespace reprise {

namespace {

double quartile_spread(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  std::int64_t middle = values[values.size() / 2];
  std::int64_t low = values[values.size() / 4], high = values[values.size() * 3 / 4];
  return middle > 0 ? static_cast<double>(high - low) / static_cast<double>(middle) : 0.0;
}

}  // namespace

void StepTimer::attach(Tape& tape) {
  begin();
  tape_ = &tape;
  tape.set_observer(this);
  preserve_listener() = this;
  // The hook is called after a node has run: what has passed since the last event was its own.
  tape.set_node_hook([this](std::uint32_t node) {
    make_room(kForward, node);
    phase_ = kForward;
    node_ = node;
    close();
    phase_ = kRest;
    node_ = 0;
  });
}

void StepTimer::detach() {
  if (!tape_) return;
  tape_->set_observer(nullptr);
  tape_->set_node_hook(nullptr);
  preserve_listener() = nullptr;
  tape_ = nullptr;
}

void StepTimer::make_room(Phase phase, std::uint32_t node) {
  std::vector<std::int64_t>& all = now_[phase];
  if (all.size() <= node) all.resize(node + 1, -1);
}

void StepTimer::close() noexcept {
  Clock::time_point now = Clock::now();
  std::int64_t& ns = now_[phase_][node_];
  ns = std::max<std::int64_t>(ns, 0) + std::chrono::duration_cast<std::chrono::nanoseconds>(now - last_).count();
  last_ = now;
}

void StepTimer::enter(Phase phase, std::uint32_t node) {
  make_room(phase, node);
  close();
  phase_ = phase;
  node_ = node;
}

void StepTimer::begins(What what, const Storage& storage) noexcept {
  moving_ = storage.raw() != nullptr;  // none: of a dry trace, made while a step is under way
  if (!moving_) return;
  close();
  outer_phase_ = std::exchange(phase_, what == What::preserve ? kPreserve : kExchange);
  outer_node_ = std::exchange(node_, 0);
}

void StepTimer::ends(const MovedBytes& moved) noexcept {
  if (!moving_) return;
  (phase_ == kPreserve ? preserved_ : exchanged_) += moved;
  close();
  phase_ = outer_phase_;
  node_ = outer_node_;
  moving_ = false;
}

void StepTimer::begin() {
  for (auto& phase : now_) phase.clear();
  for (Phase phase : {kPreserve, kExchange}) now_[phase].assign(1, 0);  // in every step, be there any or not
  make_room(kRest, 0);
  runs_.clear();
  phase_ = kRest;
  node_ = 0;
  start_ = last_ = Clock::now();
}

void StepTimer::end() {
  close();
  std::int64_t replayed = 0;
  for (std::size_t n = 0; n < now_[kReplay].size(); ++n) {
    replayed += std::max<std::int64_t>(0, now_[kReplay][n]);
    if (n < runs_.size() && runs_[n] > 1) now_[kReplay][n] /= runs_[n];  // in several micro-batches, or in a run
  }
  replayed_.push_back(replayed);
  for (int phase = 0; phase < kPhases; ++phase) {
    if (samples_[phase].size() < now_[phase].size()) samples_[phase].resize(now_[phase].size());
    for (std::size_t n = 0; n < now_[phase].size(); ++n) {
      if (now_[phase][n] >= 0) samples_[phase][n].push_back(now_[phase][n]);
    }
  }
  steps_.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(last_ - start_).count());
}

void StepTimer::forget() {
  for (auto& phase : samples_) phase.clear();
  steps_.clear();
  replayed_.clear();
  preserved_ = exchanged_ = {};
}

StepTimer::Moves StepTimer::moves() const {
  auto median_of = [&](Phase phase) { return samples_[phase].empty() ? 0 : median_time(samples_[phase][0]); };
  return {median_of(kPreserve), median_of(kExchange), static_cast<std::int64_t>(steps_.size()), preserved_, exchanged_};
}

/// Makes the times of replays add up to what a step's replays took: the medians of many nodes, each of which is slow
/// now and then, come to less than the median of their sums.
void StepTimer::scale_to(std::int64_t replayed, std::vector<std::int64_t>& times) const {
  double sum = 0;
  for (std::size_t n = 0; n < times.size() && n < runs_.size(); ++n) {
    sum += static_cast<double>(std::max<std::int64_t>(0, times[n])) * static_cast<double>(runs_[n]);
  }
  if (sum <= 0) return;
  for (std::int64_t& ns : times) {
    if (ns > 0) ns = std::llround(static_cast<double>(ns) * (static_cast<double>(replayed) / sum));
  }
}

void StepTimer::read(Profile& profile) const {
  if (steps_.empty()) fail(ErrorKind::internal, "[profile] expected at least one measured step, got none");
  std::vector<std::int64_t>* targets[] = {&profile.forward_ns, &profile.replay_ns, &profile.backward_ns};
  for (int phase = 0; phase < kRest; ++phase) {
    targets[phase]->clear();
    for (const auto& node : samples_[phase]) targets[phase]->push_back(node.empty() ? -1 : median_time(node));
  }
  profile.replayed_ns = median_time(replayed_);
  scale_to(profile.replayed_ns, profile.replay_ns);
  profile.replay_ns.resize(profile.forward_ns.size(), -1);
  profile.backward_ns.resize(profile.forward_ns.size(), -1);
  bool rests = !samples_[kRest].empty() && !samples_[kRest][0].empty();
  profile.rest_ns = !rests ? 0 : std::max<std::int64_t>(0, median_time(samples_[kRest][0]));
  profile.step_ns = median_time(steps_);
  Moves moved = moves();
  profile.moved_ns = moved.preserve_ns + moved.exchange_ns;
  profile.spread = quartile_spread(steps_);
}

}  // namespace reprise
