#include "tools/bench/measure.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "core/error.h"
#include "core/machine.h"
#include "core/parallel.h"
#include "core/tensor.h"
#include "memory/memory.h"
#include "ops/gemm.h"
#include "ops/onednn.h"

namespace reprise::bench {
namespace {

double seconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double wall_seconds() { return seconds_of(CLOCK_MONOTONIC); }
double cpu_seconds() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }

double Samples::median() const {
  if (values_.empty()) return kNone;
  std::vector<double> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  return 0.5 * (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]);
}

double Samples::min() const { return values_.empty() ? kNone : *std::min_element(values_.begin(), values_.end()); }
double Samples::max() const { return values_.empty() ? kNone : *std::max_element(values_.begin(), values_.end()); }

/// The k-th smallest sample is below the median with the probability that k or more of n fair coins show heads. By
/// logarithms, since of more than a thousand coins there are more outcomes than a double can count.
double Samples::upper_limit() const {
  std::size_t n = values_.size();
  auto factorial = [](std::size_t of) { return std::lgamma(static_cast<double>(of) + 1); };
  double below = 0, all = static_cast<double>(n) * std::log(2.0);
  std::size_t rank = n;  // from 1
  for (std::size_t tails = 0; tails < n; ++tails) {
    below += std::exp(factorial(n) - factorial(tails) - factorial(n - tails) - all);  // at most `tails` of n
    if (below > 0.05) break;
    rank = n - tails;
  }
  if (n < 5) return kNone;
  std::vector<double> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  return sorted[rank - 1];
}

Samples Samples::scaled(double factor) const {
  Samples result;
  for (double value : values_) result.add(value * factor);
  return result;
}

Samples ratios(const Samples& over, const Samples& under) {
  Samples result;
  for (std::size_t i = 0; i < std::min(over.size(), under.size()); ++i) {
    result.add(over.values()[i] / under.values()[i]);
  }
  return result;
}

Samples sums(const Samples& a, const Samples& b) {
  Samples result;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) result.add(a.values()[i] + b.values()[i]);
  return result;
}

namespace {

double best_of(int rounds, const std::function<void()>& body) {
  body();
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < rounds; ++i) best = std::min(best, timed(body).wall);
  return best;
}

double measure_flops(bool quick) {
  std::int64_t n = quick ? 256 : 1024;
  auto count = static_cast<std::size_t>(n * n);
  std::vector<float> a(count, 0.5f), b(count, 0.25f), c(count);
  GemmCall<float> call{
      .m = n, .n = n, .k = n, .a = a.data(), .lda = n, .b = b.data(), .ldb = n, .c = c.data(), .ldc = n};
  double seconds = best_of(quick ? 2 : 10, [&] { gemm(call); });
  keep(c.data());
  return 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) / seconds;
}

}  // namespace

Limits measure_limits(bool quick) {
  Limits limits;
  limits.flops = measure_flops(quick);
  std::int64_t items = quick ? std::int64_t{1} << 20 : std::int64_t{1} << 24;  // 64 MiB an array
  std::int64_t grain = std::max<std::int64_t>(1, (items + thread_count() - 1) / thread_count());
  Memory memory;  // pages of the same kind as those of tensors
  std::vector<Tensor> arrays;
  for (int i = 0; i < 3; ++i) {
    arrays.push_back(make_tensor(memory.allocator(), nullptr, DType::f32, {items}, Category::data, true));
  }
  float *a = arrays[0].view().as<float>(), *b = arrays[1].view().as<float>(), *c = arrays[2].view().as<float>();
  auto seconds = [&](auto&& body) {
    return best_of(quick ? 2 : 8, [&] {
      parallel_blocks(items, grain, body);
      keep(a);
    });
  };
  double copy = seconds([&](std::int64_t begin, std::int64_t end) {
    std::memcpy(a + begin, b + begin, static_cast<std::size_t>(end - begin) * sizeof(float));
  });
  double triad = seconds([&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) a[i] = b[i] + 0.5f * c[i];
  });
  double update = seconds([&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) a[i] += 0.5f * b[i];
  });
  double bytes = static_cast<double>(items) * sizeof(float);
  limits.copy_bytes = 2 * bytes / copy;
  limits.triad_bytes = 3 * bytes / triad;
  limits.update_bytes = 3 * bytes / update;
  return limits;
}

Machine this_machine() {
  Machine machine;
  machine.cpu = processor_name();
  machine.isa = onednn::uses_avx512() ? "avx512" : "avx2";
  cpu_set_t cores;
  CPU_ZERO(&cores);
  machine.cores = ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
  return machine;
}

double status_mib(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key + ":")) return std::stod(line.substr(key.size() + 1)) / 1024.0;
  }
  return kNone;
}

void reset_high_water() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace reprise::bench
