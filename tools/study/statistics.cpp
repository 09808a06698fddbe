#include "tools/study/statistics.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/philox.h"

namespace reprise::study {
namespace {

constexpr std::uint64_t kBootstrapStream = 0x626f6f74;  // "boot"

std::vector<double> logs_of(const std::vector<double>& values) {
  std::vector<double> logs;
  for (double value : values) {
    if (!(value > 0) || !std::isfinite(value))
      fail(ErrorKind::internal, "[statistics] expected a ratio above 0, got {}", value);
    logs.push_back(std::log(value));
  }
  return logs;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// The p-quantile of sorted numbers, interpolated between neighbours.
double quantile_of_sorted(const std::vector<double>& sorted, double p) {
  double place = p * static_cast<double>(sorted.size() - 1);
  auto low = static_cast<std::size_t>(std::floor(place));
  std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (place - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

/// The continued fraction of the incomplete beta function, by Lentz's method as modified by Thompson and Barnett
/// (1986).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), h = d;
  for (int m = 1; m <= 10000; ++m) {
    double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    h *= d * c;
    double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    h *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return h;
}

/// P(T <= t) for t of at least 0.
double student_t_probability(double t, double degrees) {
  return 1 - 0.5 * incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

/// The argument at which a growing function reaches `target`, between bounds that enclose it.
template <class Function>
double invert(const Function& function, double target, double low, double high) {
  for (int round = 0; round < 200; ++round) {
    double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) break;  // neighbours in double precision
    (function(middle) < target ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) fail(ErrorKind::internal, "[statistics] expected numbers for a median, got none");
  std::sort(values.begin(), values.end());
  std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

double geometric_mean(const std::vector<double>& values) {
  if (values.empty()) fail(ErrorKind::internal, "[statistics] expected numbers for a geometric mean, got none");
  return std::exp(mean(logs_of(values)));
}

Interval range(const std::vector<double>& values) {
  if (values.empty()) return {};
  auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low, *high};
}

std::vector<double> paired_ratios(const std::map<std::int64_t, double>& a, const std::map<std::int64_t, double>& b) {
  std::vector<double> ratios;
  for (const auto& [block, value] : a) {
    auto other = b.find(block);
    if (other != b.end()) ratios.push_back(value / other->second);
  }
  return ratios;
}

std::int64_t unpaired_blocks(const std::map<std::int64_t, double>& a, const std::map<std::int64_t, double>& b) {
  return static_cast<std::int64_t>(a.size() + b.size() - 2 * paired_ratios(a, b).size());
}

Interval bootstrap_interval(const std::vector<double>& ratios, std::uint64_t seed, double level, int resamples) {
  std::vector<double> logs = logs_of(ratios);
  std::size_t n = logs.size();
  if (n < 2) return {};
  double observed = mean(logs);
  std::vector<double> means(static_cast<std::size_t>(resamples));
  std::uint64_t position = 0;
  PhiloxWords words{};
  for (double& resampled : means) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i, ++position) {
      if (position % 4 == 0) words = philox_block(seed, kBootstrapStream, position / 4);
      std::uint64_t word = words.w[position % 4];
      sum += logs[static_cast<std::size_t>(word * n >> 32)];
    }
    resampled = sum / static_cast<double>(n);
  }
  std::sort(means.begin(), means.end());
  // Half of the resamples that equal the estimate count as below it, so that equal ratios need no correction.
  double tolerance = 1e-12 * std::max(1.0, std::abs(observed));
  auto first_equal = std::lower_bound(means.begin(), means.end(), observed - tolerance);
  auto past_equal = std::upper_bound(means.begin(), means.end(), observed + tolerance);
  double below = static_cast<double>(first_equal - means.begin()) + 0.5 * static_cast<double>(past_equal - first_equal);
  double share = std::clamp(below / resamples, 0.5 / resamples, 1 - 0.5 / resamples);
  double correction = normal_quantile(share), z = normal_quantile(0.5 * (1 + level));
  return {std::exp(quantile_of_sorted(means, normal_probability(2 * correction - z))),
          std::exp(quantile_of_sorted(means, normal_probability(2 * correction + z)))};
}

Interval log_t_interval(const std::vector<double>& ratios, double level) {
  std::vector<double> logs = logs_of(ratios);
  if (logs.size() < 2) return {};
  auto n = static_cast<double>(logs.size());
  double middle = mean(logs), squares = 0;
  for (double value : logs) squares += (value - middle) * (value - middle);
  double reach = student_t_quantile(0.5 * (1 + level), n - 1) * std::sqrt(squares / (n - 1) / n);
  return {std::exp(middle - reach), std::exp(middle + reach)};
}

RatioSummary summarise(const std::vector<double>& ratios, std::uint64_t seed, double level) {
  RatioSummary summary;
  summary.n = static_cast<std::int64_t>(ratios.size());
  if (ratios.empty()) return summary;
  summary.geometric_mean = geometric_mean(ratios);
  summary.bootstrap = bootstrap_interval(ratios, seed, level);
  summary.log_t = log_t_interval(ratios, level);
  summary.range = range(ratios);
  return summary;
}

double normal_probability(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

double normal_quantile(double p) {
  if (!(p > 0 && p < 1)) fail(ErrorKind::internal, "[statistics] expected a probability between 0 and 1, got {}", p);
  return invert(normal_probability, p, -40, 40);
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  // The fraction converges fast on one side of the mean; the other side follows by symmetry.
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_t_quantile(double p, double degrees) {
  if (!(p > 0 && p < 1) || !(degrees > 0)) {
    fail(ErrorKind::internal, "[statistics] expected a probability between 0 and 1 and degrees above 0, got {} and {}",
         p, degrees);
  }
  if (p < 0.5) return -student_t_quantile(1 - p, degrees);
  double high = 1;
  while (student_t_probability(high, degrees) < p && high < 1e100) high *= 2;
  return invert([&](double t) { return student_t_probability(t, degrees); }, p, 0, high);
}

}  // namespace reprise::study
