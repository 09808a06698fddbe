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
  for (std::uint32_t u = 0; u < units_.size(); ++u) {
    std::size_t options = objects_.segments[u].options.size(), rows = rows_.of_unit(u).size();
    measured_.least.emplace_back(options, std::vector<std::int64_t>(rows, kUnknown));
    measured_.most.emplace_back(options, std::vector<std::int64_t>(rows, -kUnknown));
  }
  for (const Probe& probe : probes_) learn(measured_, choice_of(probe), probe.walk->row_peaks);
}

void Problem::learn(MeasuredBytes& bytes, const solver::Choice& choice,
                    const std::vector<std::int64_t>& row_peaks) const {
  std::vector<std::int64_t> beside = beside_objects(choice, row_peaks);
  for (std::uint32_t u = 0; u < units_.size(); ++u) {
    auto &least = bytes.least[u][choice.options[u]], &most = bytes.most[u][choice.options[u]];
    const std::vector<int>& rows = rows_.of_unit(u);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      std::int64_t found = beside[static_cast<std::size_t>(rows[r])];
      least[r] = std::min(least[r], found);
      most[r] = std::max(most[r], found);
    }
  }
}

bool Problem::raise(OwnBytes& own, const solver::Choice& choice, const std::vector<std::int64_t>& row_peaks,
                    std::int64_t cap) const {
  std::vector<std::int64_t> beside = beside_objects(choice, row_peaks);
  bool changed = false;
  for (std::uint32_t u = 0; u < units_.size(); ++u) {
    const std::vector<int>& rows = rows_.of_unit(u);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      auto row = static_cast<std::size_t>(rows[r]);
      std::int64_t& now = own[u][choice.options[u]][r];
      if (row_peaks[row] <= cap || beside[row] <= now) continue;
      now = beside[row];
      changed = true;
    }
  }
  return changed;
}

solver::Instance Problem::with(const OwnBytes& own) const {
  solver::Instance made = objects_;
  for (std::uint32_t u = 0; u < units_.size(); ++u) {
    const std::vector<int>& rows = rows_.of_unit(u);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      auto row = static_cast<std::size_t>(rows[r]);
      // A solver's numbers are not negative: where a row holds less than its objects were thought to, its base is
      // lower.
      std::int64_t least = 0;
      for (const auto& option : own[u]) least = std::min(least, option[r]);
      least = std::max(least, -made.base[row]);
      made.base[row] += least;
      for (std::size_t o = 0; o < own[u].size(); ++o) {
        std::int64_t bytes = own[u][o][r] - least;
        if (bytes > 0) made.segments[u].options[o].own.push_back({rows[r], bytes});
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
