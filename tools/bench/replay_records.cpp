// Single costs of the preserver, on storages of their own: announcing a write, owing a read, keeping a record.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "memory/memory.h"
#include "tools/bench/replay_costs.h"

namespace reprise::bench {
namespace {

constexpr std::int64_t kRow = 512;  // bytes: 128 floats

struct Lab {
  Memory memory;
  Preserver& preserver = memory.preserver();

  StorageRef storage(std::int64_t bytes) {
    StorageRef made = Storage::create(memory.allocator(), memory.observer(), bytes, Category::state);
    std::memset(made->raw(), 1, static_cast<std::size_t>(bytes));
    return made;
  }
};

const Writer kWriter{"bench", 0};
const ReadLabel kLabel{"bench", "bench", "bytes"};

/// ns of one call, over `count` calls.
template <class Body>
double ns_each(int count, Body&& body) {
  double seconds = timed([&] {
                     for (int i = 0; i < count; ++i) body(i);
                   }).cpu;
  return 1e9 * seconds / count;
}

/// Every second row of `rows`, from row `first`.
Region every_second_row(std::int64_t rows, std::int64_t first) {
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < rows; ++i) list.push_back(first + 2 * i);
  return Region::rows(0, kRow, list);
}

void add_announcements(const BenchOptions& options, Report& report, ContractCosts& costs) {
  Lab lab;
  std::int64_t rows = options.quick ? 64 : 2048;
  StorageRef owed = lab.storage(4 * rows * kRow), free = lab.storage(4096);
  ReadId read = lab.preserver.owe(*owed, every_second_row(rows, 0), StateOption::region, kLabel);
  Region span = Region::span(3 * rows * kRow, 3 * rows * kRow + 64), many = every_second_row(rows, 1),
         whole = Region::span(0, 4096);
  int rounds = options.rounds_or(30), calls = options.quick ? 100 : 2000;
  Samples nobody, one, per_run, owing;
  StorageRef other = lab.storage(4096);
  for (int i = 0; i < rounds; ++i) {
    nobody.add(ns_each(calls, [&](int) { free->announce(whole, kWriter); }));
    one.add(ns_each(calls, [&](int) { owed->announce(span, kWriter); }));
    double all = ns_each(std::max(1, calls / 50), [&](int) { owed->announce(many, kWriter); });
    per_run.add((all - one.values().back()) / static_cast<double>(rows));
    owing.add(ns_each(calls,
                      [&](int) { lab.preserver.drop(lab.preserver.owe(*other, whole, StateOption::region, kLabel)); }));
  }
  lab.preserver.drop(read);
  costs.announcement = one.median();
  costs.obligation = owing.median();
  report.add({.what = "announcing a write, nothing owed there at all", .unit = "ns", .ours = nobody});
  report.add({.what = "announcing a write that breaks no obligation", .unit = "ns", .ours = one, .target = "100 ns"});
  report.add({.what = "the same of many rows, per run of rows",
              .unit = "ns",
              .ours = per_run,
              .target = "10 ns",
              .note = fmt::format("{} rows, as many others owed", rows)});
  report.add({.what = "owing a read and dropping it", .unit = "ns", .ours = owing});
}

/// One record made by a write, beside the plain copying of the same bytes to the same kind of memory.
void add_record(Lab& lab, const BenchOptions& options, Report& report, const std::string& what, Storage& storage,
                const Region& region, const std::string& target, double allowance_us) {
  StorageRef to = lab.storage(region.bytes());
  int rounds = options.rounds_or(30);
  Samples record, plain, excess;
  for (int i = 0; i < rounds + 1; ++i) {
    ReadId read = lab.preserver.owe(storage, region, StateOption::region, kLabel);
    double made = timed([&] { storage.announce(region, kWriter); }).wall;
    double copied = timed([&] {
                      std::byte* at = to->raw();
                      for (const Run& run : region.runs()) {
                        std::memcpy(at, storage.raw() + run.lo, static_cast<std::size_t>(run.hi - run.lo));
                        at += run.hi - run.lo;
                      }
                      keep(to->raw());
                    }).wall;
    lab.preserver.drop(read);
    if (i == 0) continue;  // warms the arena
    record.add(1e6 * made);
    plain.add(1e6 * copied);
    excess.add((1e6 * made - allowance_us) / (1e6 * copied));
  }
  report.add(
      {.what = "record of " + what, .unit = "us", .ours = record, .bound = plain.median(), .bound_by = "plain copy"});
  report.add({.what = fmt::format("record of {}{} / plain copy", what, allowance_us > 0 ? ", less 1 us," : ""),
              .unit = "x",
              .ours = excess,
              .target = target,
              .show_upper_limit = true});
}

void add_records(const BenchOptions& options, Report& report) {
  Lab lab;
  std::int64_t most = options.quick ? std::int64_t{1} << 18 : std::int64_t{1} << 25;
  StorageRef storage = lab.storage(4 * most);
  for (std::int64_t bytes : {std::int64_t{1} << 16, std::int64_t{1} << 20, most}) {
    std::string size = bytes < (1 << 20) ? fmt::format("{} KiB", bytes >> 10) : fmt::format("{} MiB", bytes >> 20);
    add_record(lab, options, report, "a span, " + size, *storage, Region::span(0, bytes), "1.15", 1.0);
  }
  std::int64_t rows = options.quick ? 64 : 2048;
  add_record(lab, options, report, fmt::format("{} rows of {} bytes", rows, kRow), *storage, every_second_row(rows, 0),
             "1.15", 0.0);
}

/// A write beside more and more records and reads of its storage: one that breaks nothing, and one that breaks a read.
void add_growth(const BenchOptions& options, Report& report) {
  int rounds = options.rounds_or(30), calls = options.quick ? 20 : 200;
  Samples idle[2], breaking[2];
  std::int64_t counts[2] = {16, options.quick ? 64 : 4096};
  for (int which = 0; which < 2; ++which) {
    Lab lab;
    std::int64_t count = counts[which];
    StorageRef storage = lab.storage((count + 1) * 2 * kRow);
    std::vector<ReadId> reads;
    for (std::int64_t i = 0; i < count; ++i) {
      Region row = Region::span(2 * i * kRow, (2 * i + 1) * kRow);
      reads.push_back(lab.preserver.owe(*storage, row, StateOption::region, kLabel));
      if (i % 2) storage->announce(row, kWriter);  // half of them are broken and have a record
    }
    Region unowed = Region::span(2 * count * kRow, (2 * count + 1) * kRow);
    for (int i = 0; i < rounds; ++i) {
      idle[which].add(ns_each(calls, [&](int) { storage->announce(unowed, kWriter); }));
      breaking[which].add(ns_each(calls, [&](int call) {
        std::int64_t at = (2 * (call * 37 % count) + 1) * kRow;
        ReadId read = lab.preserver.owe(*storage, Region::span(at, at + 64), StateOption::region, kLabel);
        storage->announce(Region::span(at, at + 64), kWriter);
        lab.preserver.drop(read);
      }));
    }
    for (ReadId read : reads) lab.preserver.drop(read);
  }
  for (int which = 0; which < 2; ++which) {
    report.add({.what = fmt::format("announcing beside {} reads, half with records", counts[which]),
                .unit = "ns",
                .ours = idle[which],
                .target = which == 0 ? "" : "O(log n): about 3 times the line above"});
  }
  for (int which = 0; which < 2; ++which) {
    report.add({.what = fmt::format("owing 64 bytes, their record, dropping, beside {} reads", counts[which]),
                .unit = "ns",
                .ours = breaking[which],
                .target = which == 0 ? "" : "O(log n): about 3 times the line above"});
  }
}

}  // namespace

void add_record_costs(const BenchOptions& options, Report& report, ContractCosts& costs) {
  add_announcements(options, report, costs);
  add_records(options, report);
  add_growth(options, report);
}

}  // namespace reprise::bench
