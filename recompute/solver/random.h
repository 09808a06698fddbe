// Random: numbers from a seed for made-up instances, the same on every machine: the standard library's distributions
// differ between libraries. Used by synthetic.cpp and by tests of the solver; nothing that trains draws from it.
#pragma once

#include <cmath>
#include <cstdint>

namespace reprise::solver {

/// splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 0x1234567) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(count));
  }
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool chance(double p) { return unit() < p; }
  /// Evenly spread on a logarithmic scale.
  double spread(double low, double high) { return low * std::pow(high / low, unit()); }

 private:
  std::uint64_t state_;
};

}  // namespace reprise::solver
