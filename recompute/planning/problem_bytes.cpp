// What rows hold besides objects, as walks found it: measured, widened, and put into instances.
#include <algorithm>

#include "recompute/planning/problem.h"
#include "recompute/solver/evaluate.h"

namespace reprise {

/// What each row holds besides the objects that are alive in it under `choice`. A row in which nothing runs has no
/// level of its own: it holds nothing.
std::vector<std::int64_t> Problem::beside_objects(const solver::Choice& choice,
                                                  const std::vector<std::int64_t>& row_peaks) const {
  std::vector<std::int64_t> rows = solver::evaluate(objects_, choice).row_bytes;
  for (std::size_t row = 0; row < rows.size(); ++row) rows[row] = row_peaks[row] - rows[row];
  return rows;
}

void Problem::measure_own() {
  constexpr std::int64_t kUnknown = INT64_MAX;
  for (const solver::Segment& segment : objects_.segments) {
    measured_.least.emplace_back(segment.options.size(), std::array{kUnknown, kUnknown});
    measured_.most.emplace_back(segment.options.size(), std::array{-kUnknown, -kUnknown});
  }
  for (const Probe& probe : probes_) learn(measured_, choice_of(probe), probe.walk->row_peaks);
}

void Problem::learn(MeasuredBytes& bytes, const solver::Choice& choice,
                    const std::vector<std::int64_t>& row_peaks) const {
  std::vector<std::int64_t> beside = beside_objects(choice, row_peaks);
  for (std::uint32_t u = 0; u < units_.size(); ++u) {
    auto &least = bytes.least[u][choice.options[u]], &most = bytes.most[u][choice.options[u]];
    std::array found{beside[units_.forward_row(u)], beside[units_.backward_row(u)]};
    for (std::size_t way : {0u, 1u}) {
      least[way] = std::min(least[way], found[way]);
      most[way] = std::max(most[way], found[way]);
    }
  }
}

bool Problem::raise(OwnBytes& own, const solver::Choice& choice, const std::vector<std::int64_t>& row_peaks,
                    std::int64_t cap) const {
  std::vector<std::int64_t> beside = beside_objects(choice, row_peaks);
  bool changed = false;
  for (std::uint32_t u = 0; u < units_.size(); ++u) {
    std::array rows{units_.forward_row(u), units_.backward_row(u)};
    for (std::size_t way : {0u, 1u}) {
      std::int64_t& now = own[u][choice.options[u]][way];
      if (row_peaks[rows[way]] <= cap || beside[rows[way]] <= now) continue;
      now = beside[rows[way]];
      changed = true;
    }
  }
  return changed;
}

solver::Instance Problem::with(const OwnBytes& own) const {
  solver::Instance made = objects_;
  for (std::uint32_t u = 0; u < units_.size(); ++u) {
    for (std::size_t way : {0u, 1u}) {
      int row = way == 0 ? units_.forward_row(u) : units_.backward_row(u);
      // A solver's numbers are not negative: where a row holds less than its objects were thought to, its base is
      // lower.
      std::int64_t least = 0;
      for (const auto& option : own[u]) least = std::min(least, option[way]);
      least = std::max(least, -made.base[row]);
      made.base[row] += least;
      for (std::size_t o = 0; o < own[u].size(); ++o) {
        std::int64_t bytes = own[u][o][way] - least;
        if (bytes > 0) made.segments[u].options[o].own.push_back({row, bytes});
      }
    }
  }
  return made;
}

solver::Instance Problem::with_runs_eased(const OwnBytes& own, const std::vector<std::int64_t>& restore_ns) const {
  solver::Instance made = with(own);
  for (std::uint32_t u = 1; u < units_.size(); ++u) {
    if (units_[u].segment == kNone || units_[u - 1].segment == kNone) continue;
    std::vector<solver::Option>& options = made.segments[u].options;
    std::size_t count = options.size();
    for (std::size_t o = 0; o < count && options.size() < 64; ++o) {
      if (options[o].retain) continue;
      auto added = std::uint64_t{1} << options.size();
      options.push_back(options[o]);
      options.back().time_ns += restore_ns[u - 1];
      for (std::size_t i = 0; i < made.objects.size(); ++i) {
        if (makers_[i] == u - 1) continue;
        for (solver::Use& use : made.objects[i].uses) {
          if (use.segment == static_cast<int>(u) && use.options >> o & 1) use.options |= added;
        }
      }
      for (solver::JointTime& joint : made.joint_times) {
        if (joint.segment == static_cast<int>(u) && joint.options >> o & 1) joint.options |= added;
      }
    }
  }
  return made;
}

}  // namespace reprise
