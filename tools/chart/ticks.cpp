#include "tools/chart/ticks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace reprise::chart {
namespace {

/// A unit that numbers are shown in.
struct Shown {
  double size;
  const char* name;
};

constexpr Shown kBytes[] = {{1, "B"},
                            {1024, "KiB"},
                            {1024.0 * 1024, "MiB"},
                            {1024.0 * 1024 * 1024, "GiB"},
                            {1024.0 * 1024 * 1024 * 1024, "TiB"}};
constexpr Shown kSeconds[] = {{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}, {60, "min"}, {3600, "h"}};

/// The largest unit that is at most the value. Minutes and hours begin at five, so that 90 s stays 90 s.
Shown unit_for(double value, Unit unit) {
  if (unit == Unit::percent) return {1, "%"};
  if (unit == Unit::number || unit == Unit::count) return {1, ""};
  Shown best = unit == Unit::bytes ? kBytes[0] : kSeconds[0];
  auto consider = [&](const Shown& shown) {
    if (value >= shown.size * (shown.size > 1 && unit == Unit::seconds ? 5 : 1)) best = shown;
  };
  if (unit == Unit::bytes) {
    for (const Shown& shown : kBytes) consider(shown);
  } else {
    for (const Shown& shown : kSeconds) consider(shown);
  }
  return best;
}

std::string with_commas(std::string digits) {
  std::size_t end = std::min(digits.find('.'), digits.size());
  for (std::size_t at = end; at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string scientific_text(double value, int decimals = 2) {
  std::string text = fmt::format("{:.{}e}", std::fabs(value), decimals);
  std::size_t exponent = text.find('e');
  std::string mantissa = text.substr(0, exponent);
  while (mantissa.find('.') != std::string::npos && mantissa.back() == '0') mantissa.pop_back();
  if (mantissa.back() == '.') mantissa.pop_back();
  return fmt::format("{}{}e{}", value < 0 ? "−" : "", mantissa, std::stoi(text.substr(exponent + 1)));
}

/// Decimals that a step needs: 0 for 20, 1 for 0.5, 2 for 0.25.
int decimals_of(double step) {
  int decimals = 0;
  for (double rest = step; decimals < 9 && std::fabs(rest - std::round(rest)) > 1e-6 * rest; rest *= 10) ++decimals;
  return decimals;
}

/// Decimals that a value in scientific notation needs to be told from the next tick.
int digits_below(double value, double step) {
  return std::clamp(
      static_cast<int>(std::floor(std::log10(std::fabs(value)) + 1e-9) - std::floor(std::log10(step) + 1e-9)), 0, 15);
}

std::string with_unit(const std::string& number, const char* name) { return *name == 0 ? number : number + " " + name; }

double ten_to(int power, double mantissa) {
  return power >= 0 ? mantissa * std::pow(10.0, power) : mantissa / std::pow(10.0, -power);
}

void mend(double& low, double& high, ScaleKind scale) {
  bool has_low = can_show(low, scale), has_high = can_show(high, scale);
  if (!has_low && !has_high) {
    low = scale == ScaleKind::log ? 1 : 0;
    high = scale == ScaleKind::log ? 10 : 1;
    return;
  }
  if (!has_low) low = high;
  if (!has_high) high = low;
  if (low > high) std::swap(low, high);
  double magnitude = std::max(std::fabs(low), std::fabs(high));
  if (high - low > std::max(1e-11 * magnitude, 1e-280)) return;
  if (scale == ScaleKind::log) {
    low /= 2;
    high *= 2;
  } else {
    double room = magnitude > 1e-270 ? 0.1 * magnitude : 1;
    low -= room;
    high += room;
  }
}

/// The next larger step: 1, 2, 5, 10, ...; powers of two for bytes.
struct Step {
  Unit unit;
  double size;  // of the shown unit
  int power;
  int mantissa = 1;
  double value() const { return unit == Unit::bytes ? std::ldexp(1.0, power) : ten_to(power, mantissa) * size; }
  void grow() {
    if (unit == Unit::bytes || mantissa == 5) ++power;
    mantissa = unit == Unit::bytes ? 1 : mantissa == 1 ? 2 : mantissa == 2 ? 5 : 1;
  }
};

Step smallest_step(double range, Unit unit, double size, int most) {
  double least = range / most / 4;
  if (unit == Unit::bytes) return {unit, 1, std::max(0, static_cast<int>(std::floor(std::log2(least))))};
  int power = static_cast<int>(std::floor(std::log10(least / size)));
  return {unit, size, unit == Unit::count ? std::max(0, power) : power};
}

struct Span {
  double first, last;  // in steps
};

Span span_of(double low, double high, double step, bool covering) {
  // An end that is a multiple but for rounding counts as one.
  double slack = std::min(1e-9, 0.01 * (high - low) / step);
  if (covering) return {std::floor(low / step + slack), std::ceil(high / step - slack)};
  return {std::ceil(low / step - slack), std::floor(high / step + slack)};
}

Ticks linear_ticks(double low, double high, Unit unit, int most, bool covering) {
  Shown shown = unit_for(std::max(std::fabs(low), std::fabs(high)), unit);
  Step step = smallest_step(high - low, unit, shown.size, most);
  Span span = span_of(low, high, step.value(), covering);
  while (span.last - span.first + 1 > most) {
    step.grow();
    span = span_of(low, high, step.value(), covering);
  }
  double size = step.value();
  // A step far below the unit would need many decimals: 1,088 MiB reads better than 1.0625 GiB.
  if (unit == Unit::bytes && size < 0.25 * shown.size) shown = unit_for(size, unit);
  int decimals = decimals_of(size / shown.size);
  bool scientific =
      shown.size == 1 && unit != Unit::bytes && (size < 0.99e-4 || std::max(std::fabs(low), std::fabs(high)) >= 1e7);
  Ticks ticks{low, high, {}, {}};
  for (double i = span.first; i <= span.last; ++i) {
    double value = step.unit == Unit::bytes || step.power >= 0
                       ? i * size
                       : i * step.mantissa / std::pow(10.0, -step.power) * step.size;
    ticks.at.push_back(value);
    ticks.text.push_back(i == 0       ? "0"
                         : scientific ? scientific_text(value, digits_below(value, size))
                                      : with_unit(decimal_text(value / shown.size, decimals), shown.name));
  }
  if (covering && !ticks.at.empty()) {
    ticks.low = std::min(low, ticks.at.front());
    ticks.high = std::max(high, ticks.at.back());
  }
  return ticks;
}

/// All round numbers from low to high, rising: 1, 2 and 5 times powers of ten, or every `stride`-th power.
std::vector<double> log_candidates(double low, double high, Unit unit, int stride, bool fine) {
  std::vector<double> at;
  bool binary = unit == Unit::bytes;
  int first = static_cast<int>(std::floor(binary ? std::log2(low) : std::log10(low)));
  int last = static_cast<int>(std::ceil(binary ? std::log2(high) : std::log10(high)));
  for (int power = first; power <= last; ++power) {
    if (power % stride != 0) continue;
    for (int mantissa : {1, 2, 5}) {
      if (mantissa != 1 && !fine) continue;
      double value = binary ? std::ldexp(1.0, power) : ten_to(power, mantissa);
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) at.push_back(value);
    }
  }
  return at;
}

std::string log_text(double value, Unit unit) {
  if (unit == Unit::number && (value < 0.99e-3 || value >= 1e6)) return scientific_text(value);
  Shown shown = unit_for(value * (1 + 1e-9), unit);
  return with_unit(decimal_text(value / shown.size, decimals_of(value / shown.size)), shown.name);
}

Ticks log_ticks(double low, double high, Unit unit, int most, bool covering) {
  if (covering) {
    bool fine = unit != Unit::bytes;
    std::vector<double> below = log_candidates(low / 10, low, unit, 1, fine);
    std::vector<double> above = log_candidates(high, high * 10, unit, 1, fine);
    if (!below.empty()) low = std::min(low, below.back());
    if (!above.empty()) high = std::max(high, above.front());
  }
  Ticks ticks{low, high, {}, {}};
  if (unit != Unit::bytes) ticks.at = log_candidates(low, high, unit, 1, true);
  for (int stride = 1; ticks.at.empty() || ticks.at.size() > static_cast<std::size_t>(most); ++stride) {
    ticks.at = log_candidates(low, high, unit, stride, false);
    if (ticks.at.empty()) break;
  }
  if (ticks.at.size() < 3) {  // within one decade the ticks of a linear axis serve as well
    Ticks linear = linear_ticks(low, high, unit, most, false);
    if (linear.at.size() > ticks.at.size()) return linear;
  }
  for (double value : ticks.at) ticks.text.push_back(log_text(value, unit));
  return ticks;
}

}  // namespace

std::string decimal_text(double value, int decimals) {
  std::string digits = fmt::format("{:.{}f}", std::fabs(value), decimals);
  bool zero = digits.find_first_not_of("0.") == std::string::npos;
  return (value < 0 && !zero ? "−" : "") + with_commas(digits);
}

bool can_show(double value, ScaleKind scale) {
  return std::isfinite(value) && std::fabs(value) < 1e300 && (scale == ScaleKind::linear || value > 1e-300);
}

Ticks make_ticks(double low, double high, Unit unit, ScaleKind scale, int most, bool covering) {
  mend(low, high, scale);
  most = std::max(most, covering ? 3 : 2);  // around 0 two ticks cover nothing
  return scale == ScaleKind::log ? log_ticks(low, high, unit, most, covering)
                                 : linear_ticks(low, high, unit, most, covering);
}

std::string value_text(double value, Unit unit) {
  if (std::isnan(value)) return "none";
  if (std::isinf(value)) return value < 0 ? "−infinite" : "infinite";
  double magnitude = std::fabs(value);
  if (magnitude == 0)
    return with_unit("0", unit == Unit::bytes ? "B" : unit == Unit::seconds ? "s" : unit_for(1, unit).name);
  if (unit == Unit::number && (magnitude < 0.99e-3 || magnitude >= 1e7)) return scientific_text(value);
  Shown shown = unit_for(magnitude, unit);
  double number = magnitude / shown.size;
  bool whole = number == std::round(number) || (unit == Unit::bytes && shown.size == 1);
  int digits = static_cast<int>(std::floor(std::log10(number)));
  int decimals = whole ? 0 : std::clamp(2 - digits, 0, 9);
  return with_unit(decimal_text(std::copysign(number, value), decimals), shown.name);
}

}  // namespace reprise::chart
