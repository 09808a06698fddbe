#include "recompute/planning/move_costs.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "memory/memory.h"
#include "recompute/planning/median.h"

namespace reprise {

namespace {

constexpr int kRounds = 7;
// Of the buffers: large enough that the clock's steps do not count, small enough to take little of the budget.
constexpr std::int64_t kLeastBytes = 1 << 20, kMostBufferBytes = 64 << 20;
constexpr std::int64_t kFewerBytes = 16;  // the second point of a line has this part of the bytes
constexpr std::int64_t kRowBytes = 512;   // of scattered rows, as of a table of 128 floats
constexpr std::int64_t kManyBlocks = 256, kRowsOfABlock = 2;
// Of holding costs against real steps: by how much they may be off, and the ns of a step from which on times tell more
// than their scatter does.
constexpr double kMostFactor = 8, kLeastTellingNs = 20e3;

struct Times {
  double owe_write = 0;  // ns from the announcement of a write until it may happen
  double exchange = 0;   // ns of opening
};

/// Owes each of `regions` of a storage, writes them, serves the reads: medians of a few rounds.
Times measure(std::int64_t bytes, const std::vector<Region>& regions, StateOption option) {
  using Clock = std::chrono::steady_clock;
  auto since = [](Clock::time_point start) {
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  };
  Memory memory;
  StorageRef storage = Storage::create(memory.allocator(), memory.observer(), bytes, Category::workspace);
  std::memset(storage->raw(), 1, static_cast<std::size_t>(bytes));
  std::vector<double> writes, exchanges;
  Region all;
  for (const Region& region : regions) all = unite(all, region);
  for (int round = 0; round <= kRounds; ++round) {
    std::vector<ReadId> reads;
    for (const Region& region : regions) reads.push_back(memory.preserver().owe(*storage, region, option, {}));
    auto start = Clock::now();
    storage->announce(all, {"profile", round});
    double write = since(start);
    std::memset(storage->raw(), round, static_cast<std::size_t>(bytes));
    start = Clock::now();
    memory.preserver().serve(reads);
    double opened = since(start);
    memory.preserver().close_all();
    for (ReadId read : reads) memory.preserver().drop(read);
    if (round == 0) continue;  // pages are touched for the first time
    writes.push_back(write);
    exchanges.push_back(opened);
  }
  return {median_time(writes), median_time(exchanges)};
}

/// `count` rows, spread over the storage.
Region rows(std::int64_t bytes, std::int64_t row_bytes, std::int64_t count, std::int64_t first = 0) {
  std::int64_t apart = bytes / row_bytes / count;
  std::vector<std::int64_t> list(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = first + static_cast<std::int64_t>(i) * apart;
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
  auto span = [](std::int64_t bytes) { return std::vector{Region::span(0, bytes)}; };
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

  // Many runs in one block, then many blocks of a few runs: what is left over is their own.
  std::int64_t most_rows = large / kRowBytes;
  std::vector<Region> one = {rows(large, kRowBytes, most_rows / 4)}, many;
  for (std::int64_t b = 0; b < kManyBlocks; ++b) many.push_back(rows(large, kRowBytes, kRowsOfABlock, b * 2));
  Times by_rows = measure(large, one, StateOption::region), by_blocks = measure(large, many, StateOption::region);
  auto complete = [&](MoveCost& cost, double rows_ns, double blocks_ns) {
    double runs = d(static_cast<std::int64_t>(one.front().run_count()));
    cost.ns_per_run = std::max(0.0, (rows_ns - d(cost.of(one.front().bytes(), 0))) / runs);
    double each = blocks_ns / d(kManyBlocks) - cost.ns_per_byte * d(many.front().bytes());
    cost.fixed_ns = std::max(cost.fixed_ns, each - cost.ns_per_run * d(kRowsOfABlock));
  };
  complete(costs.gather, by_rows.owe_write, by_blocks.owe_write);
  complete(costs.exchange, by_rows.exchange, by_blocks.exchange);
  return costs;
}

MoveCosts held_against(const MoveCosts& costs, const StepTimer::Moves& moves) {
  auto d = [](std::int64_t n) { return static_cast<double>(n); };
  double steps = std::max(1.0, d(moves.steps));
  auto told = [&](const MoveCost& cost, const MovedBytes& moved) {
    return (cost.fixed_ns * d(moved.blocks) + cost.ns_per_byte * d(moved.bytes) + cost.ns_per_run * d(moved.runs)) /
           steps;
  };
  auto factor = [](double told_ns, std::int64_t measured_ns) {
    if (told_ns <= 0 || static_cast<double>(measured_ns) < kLeastTellingNs) return 1.0;
    return std::clamp(static_cast<double>(measured_ns) / told_ns, 1 / kMostFactor, kMostFactor);
  };
  auto scale = [](MoveCost& cost, double by) {
    cost.fixed_ns *= by;
    cost.ns_per_byte *= by;
    cost.ns_per_run *= by;
  };
  MoveCosts held = costs;
  double copies = costs.copy.ns_per_byte * d(moves.preserved.copied) / steps;
  double records = told(costs.gather, moves.preserved);
  // Where both were made, one factor stands for both: they are timed together.
  double preserve = factor(copies + records, moves.preserve_ns);
  if (copies > 0) scale(held.copy, preserve);
  if (records > 0) scale(held.gather, preserve);
  scale(held.exchange, factor(told(costs.exchange, moves.exchanged), moves.exchange_ns));
  return held;
}

}  // namespace reprise
