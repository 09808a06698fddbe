// Clocks, samples and the machine's own limits for `reprise bench`. Every bench measures in rounds: what is compared
// takes turns inside a round, and medians with the smallest and largest figure are shown.
//
// Limits are measured in the same sitting as the figures: FLOP/s by a matrix product of 1,024 cubed, bytes/s by
// copying, a triad and an update in place over arrays of 64 MiB on the same kind of pages as tensors, with the same
// number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/interrupt.h"

namespace reprise::bench {

/// Seconds since some moment: of the wall, and of the processor (all threads of this process).
double wall_seconds();
double cpu_seconds();

struct Elapsed {
  double wall = 0, cpu = 0;  // seconds
};

/// Somebody asked to stop: Interrupted.
template <class Body>
Elapsed timed(Body&& body) {
  if (stop_requested()) throw Interrupted{"measuring; nothing was written"};
  double wall = wall_seconds(), cpu = cpu_seconds();
  body();
  return {wall_seconds() - wall, cpu_seconds() - cpu};
}

class Samples {
 public:
  void add(double value) { values_.push_back(value); }
  bool empty() const { return values_.empty(); }
  std::size_t size() const { return values_.size(); }
  const std::vector<double>& values() const { return values_; }
  /// NaN when empty.
  double median() const;
  double min() const;
  double max() const;
  /// With 95 % confidence the median lies at or below this: an order statistic, whatever the distribution. NaN below
  /// five samples, where none says so.
  double upper_limit() const;
  /// Every sample times `factor`.
  Samples scaled(double factor) const;

 private:
  std::vector<double> values_;
};

/// Sample by sample; both have the same count.
Samples ratios(const Samples& over, const Samples& under);
Samples sums(const Samples& a, const Samples& b);

/// Keeps the compiler from dropping the computation of what `pointer` points at.
inline void keep(const void* pointer) { asm volatile("" : : "r"(pointer) : "memory"); }

/// What one thread count of this machine can do.
struct Limits {
  double flops = 0;         // per second, f32
  double copy_bytes = 0;    // per second; bytes read and written both count
  double triad_bytes = 0;   // per second, a = b + s c
  double update_bytes = 0;  // per second, a += s b: what is written has been read, so no line is fetched for nothing
  /// The fastest of the three.
  double bytes() const { return std::max({copy_bytes, triad_bytes, update_bytes}); }
};
Limits measure_limits(bool quick);

struct Machine {
  std::string cpu, isa;
  int cores = 0;
};
Machine this_machine();

/// A line of /proc/self/status in MiB, such as "VmRSS" or "VmHWM". NaN where the kernel does not say.
double status_mib(const std::string& key);
/// Asks the kernel to forget the highest resident size so far; VmHWM then counts from here.
void reset_high_water();

}  // namespace reprise::bench
