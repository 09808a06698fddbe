#include "models/check/check.h"

#include <algorithm>
#include <chrono>

namespace reprise {
namespace {

constexpr double kDirectionTolerance = 1e-5;

/// Runs `body`, which fills the row; what it throws for the model's or the method's sake becomes the row's difference.
template <class Body>
CheckRow guarded_row(std::string what, Body&& body) {
  CheckRow row;
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

void compare_methods(const Config& config, const Dataset& data, const CheckOptions& options, MethodSettings settings, const std::string& suffix,
                     std::vector<CheckRow>& rows) {
  settings.segments = false;
  MethodMarks reference;
  rows.push_back(guarded_row("no segments, " + suffix, [&](CheckRow& row) {
    reference = run_method(config, data, settings);
    row.peak_bytes = reference.peak_bytes;
    row.difference = first_difference(reference, reference);  // bytes left over
  }));
  if (!rows.back().good) return;
  settings.segments = true;
  for (const std::string& method : options.methods) {
    settings.method = method;
    rows.push_back(guarded_row(method + ", " + suffix, [&](CheckRow& row) {
      MethodMarks found = run_method(config, data, settings);
      row.peak_bytes = found.peak_bytes;
      row.difference = first_difference(reference, found);
    }));
  }
}

void compare_directions(const Config& config, const Dataset& data, const CheckOptions& options, std::vector<CheckRow>& rows) {
  rows.push_back(guarded_row(fmt::format("finite differences in f64, {} directions", options.directions), [&](CheckRow& row) {
    MethodSettings settings;
    settings.method = options.methods.empty() ? "retain" : options.methods.back();
    settings.batch = config.get_int("check.guard_batch");
    for (const DirectionalCheck& check : check_directions(config, data, settings, options.directions)) {
      if (check.relative_error() <= kDirectionTolerance) continue;
      row.difference = fmt::format("directional derivative {} instead of {} (relative error {:.1e}, at most {:.0e})", check.analytic,
                                   check.numeric, check.relative_error(), kDirectionTolerance);
      return;
    }
  }));
}

}  // namespace

bool CheckReport::good() const {
  return std::all_of(rows.begin(), rows.end(), [](const CheckRow& row) { return row.good; });
}

CheckReport check_model(const Config& config, const CheckOptions& options) {
  CheckReport report;
  Dataset data = load_dataset(config);
  MethodSettings settings;
  settings.steps = options.steps;
  compare_methods(config, data, options, settings, fmt::format("{} steps", options.steps), report.rows);
  if (options.guarded_step) {
    MethodSettings guarded;
    guarded.guard = true;
    guarded.steps = 1;
    guarded.batch = config.get_int("check.guard_batch");
    compare_methods(config, data, options, guarded, fmt::format("guarded step of {} images", guarded.batch), report.rows);
  }
  if (options.finite_differences) compare_directions(config, data, options, report.rows);
  return report;
}

}  // namespace reprise
