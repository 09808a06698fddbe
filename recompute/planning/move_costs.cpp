#include "recompute/planning/move_costs.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>

#include "memory/memory.h"

namespace reprise {

namespace {

constexpr int kRounds = 7;
// Of the buffers: large enough that the clock's steps do not count, small enough to take little of the budget.
constexpr std::int64_t kLeastBytes = 1 << 20, kMostBufferBytes = 64 << 20;
constexpr std::int64_t kFewerBytes = 16;  // the second point of a line has this part of the bytes
constexpr std::int64_t kRowBytes = 512;   // of scattered rows, as of a table of 128 floats

struct Times {
  double owe_write = 0;  // ns from the announcement of a write until it may happen
  double exchange = 0;   // ns of opening
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Owes `region` of a storage, writes all of it, serves the read: medians of a few rounds.
Times measure(std::int64_t bytes, const Region& region, StateOption option) {
  using Clock = std::chrono::steady_clock;
  auto since = [](Clock::time_point start) {
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  };
  Memory memory;
  StorageRef storage = Storage::create(memory.allocator(), memory.observer(), bytes, Category::workspace);
  std::memset(storage->raw(), 1, static_cast<std::size_t>(bytes));
  std::vector<double> writes, exchanges;
  for (int round = 0; round <= kRounds; ++round) {
    ReadId read = memory.preserver().owe(*storage, region, option, {});
    auto start = Clock::now();
    storage->announce(region, {"profile", round});
    double write = since(start);
    std::memset(storage->raw(), round, static_cast<std::size_t>(bytes));
    start = Clock::now();
    memory.preserver().serve(std::span(&read, 1));
    double opened = since(start);
    memory.preserver().close_all();
    memory.preserver().drop(read);
    if (round == 0) continue;  // pages are touched for the first time
    writes.push_back(write);
    exchanges.push_back(opened);
  }
  return {median(writes), median(exchanges)};
}

/// Every fourth row.
Region rows(std::int64_t bytes, std::int64_t row_bytes) {
  std::vector<std::int64_t> list(static_cast<std::size_t>(bytes / row_bytes / 4));
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = static_cast<std::int64_t>(i) * 4;
  return Region::rows(0, row_bytes, list);
}

/// Through two points, never falling.
MoveCost line(double bytes1, double ns1, double bytes2, double ns2) {
  MoveCost cost;
  cost.ns_per_byte = std::max(0.0, (ns2 - ns1) / (bytes2 - bytes1));
  cost.fixed_ns = std::max(0.0, ns1 - cost.ns_per_byte * bytes1);
  return cost;
}

}  // namespace

MoveCosts measure_move_costs(std::int64_t most_bytes) {
  std::int64_t large = std::clamp(most_bytes, kLeastBytes, kMostBufferBytes), small = large / kFewerBytes;
  auto span = [](std::int64_t bytes) { return Region::span(0, bytes); };
  auto d = [](std::int64_t n) { return static_cast<double>(n); };
  Times copy1 = measure(small, span(small), StateOption::whole),
        copy2 = measure(large, span(large), StateOption::whole);
  // Half of the storage, so that a block and no plain copy is made.
  Times block1 = measure(small, span(small / 2), StateOption::region),
        block2 = measure(large, span(large / 2), StateOption::region);
  MoveCosts costs;
  costs.copy = line(d(small), copy1.owe_write, d(large), copy2.owe_write);
  costs.gather = line(d(small / 2), block1.owe_write, d(large / 2), block2.owe_write);
  costs.exchange = line(d(small / 2), block1.exchange, d(large / 2), block2.exchange);
  Region scattered = rows(large, kRowBytes);
  Times by_rows = measure(large, scattered, StateOption::region);
  auto per_run = [&](const MoveCost& cost, double ns) {
    double bytes = cost.fixed_ns + cost.ns_per_byte * d(scattered.bytes());
    return std::max(0.0, (ns - bytes) / d(static_cast<std::int64_t>(scattered.run_count())));
  };
  costs.gather.ns_per_run = per_run(costs.gather, by_rows.owe_write);
  costs.exchange.ns_per_run = per_run(costs.exchange, by_rows.exchange);
  return costs;
}

}  // namespace reprise
