#include "models/check/check.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "core/text.h"
#include "models/check/halfway_plans.h"
#include "models/train/method.h"
#include "recompute/planning/planner.h"

namespace reprise {
namespace {

constexpr double kDirectionTolerance = 1e-5;

/// Runs `body`, which fills the row; what it throws for the model's or the method's sake becomes the row's difference.
template <class Body>
EquivalenceRow guarded_row(std::string what, Body&& body) {
  EquivalenceRow row;
  row.what = std::move(what);
  auto start = std::chrono::steady_clock::now();
  try {
    body(row);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::config || error.kind() == ErrorKind::user || error.kind() == ErrorKind::io) throw;
    row.difference = fmt::format("error ({}): {}", to_string(error.kind()), error.what());
  }
  row.good = row.difference.empty();
  row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return row;
}

void compare_methods(const Config& config, const Dataset& data, const EquivalenceOptions& options,
                     MethodSettings settings, const std::string& suffix, std::vector<EquivalenceRow>& rows) {
  settings.segments = false;
  MethodMarks reference;
  rows.push_back(guarded_row("no segments, " + suffix, [&](EquivalenceRow& row) {
    reference = run_method(config, data, settings);
    row.peak_bytes = reference.peak_bytes;
    row.difference = first_difference(reference, reference);  // bytes left over
  }));
  if (!rows.back().good) return;
  settings.segments = true;
  std::optional<HalfwayPlans> plans;
  for (const std::string& method : options.methods) {
    settings.method = method;
    settings.plan = nullptr;
    std::string what = method + ", " + suffix;
    rows.push_back(guarded_row(what, [&](EquivalenceRow& row) {
      if (is_planned(method)) {
        if (!plans) plans.emplace(with_settings(config, settings));
        settings.plan = plans->plan(method);
        row.what = fmt::format("{} at {}, {}", method, short_bytes(settings.plan->budget), suffix);
      }
      MethodMarks found = run_method(config, data, settings);
      row.peak_bytes = found.peak_bytes;
      row.difference = first_difference(reference, found);
      if (row.difference.empty() && settings.plan && !settings.guard &&
          found.peak_bytes > settings.plan->predicted_peak) {
        row.difference = fmt::format("a peak of {} bytes, where the plan promised {}", found.peak_bytes,
                                     settings.plan->predicted_peak);
      }
    }));
  }
}

void compare_directions(const Config& config, const Dataset& data, const EquivalenceOptions& options,
                        std::vector<EquivalenceRow>& rows) {
  rows.push_back(guarded_row(
      fmt::format("finite differences in f64, {} directions", options.directions), [&](EquivalenceRow& row) {
        MethodSettings settings;
        // The steps here run in f64 and by no schedule: under the last of the methods that need no plan.
        for (const std::string& method : options.methods) {
          if (!is_planned(method)) settings.method = method;
        }
        settings.batch = config.get_int("check.guard_batch");
        for (const DirectionalCheck& check : check_directions(config, data, settings, options.directions)) {
          if (check.relative_error() <= kDirectionTolerance) continue;
          row.difference =
              fmt::format("directional derivative {} instead of {} (relative error {:.1e}, at most {:.0e})",
                          check.analytic, check.numeric, check.relative_error(), kDirectionTolerance);
          return;
        }
      }));
}

}  // namespace

bool EquivalenceReport::good() const {
  return std::all_of(rows.begin(), rows.end(), [](const EquivalenceRow& row) { return row.good; });
}

EquivalenceReport check_model(const Config& config, const EquivalenceOptions& options) {
  EquivalenceReport report;
  Dataset data = load_dataset(config, *make_model(config));
  MethodSettings settings;
  settings.steps = options.steps;
  compare_methods(config, data, options, settings, counted(options.steps, "step"), report.rows);
  if (options.guarded_step) {
    MethodSettings guarded;
    guarded.guard = true;
    guarded.steps = 1;
    guarded.batch = config.get_int("check.guard_batch");
    compare_methods(config, data, options, guarded, fmt::format("guarded step of {}", counted(guarded.batch, "image")),
                    report.rows);
  }
  if (options.finite_differences) compare_directions(config, data, options, report.rows);
  return report;
}

}  // namespace reprise
