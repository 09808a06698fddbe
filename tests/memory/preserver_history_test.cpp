// Random histories of reads, writes, host access, serving and dropping, on several storages, under whole, region, both
// mixed, and as the writes say: every read sees its own bytes, and all come home.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/error.h"
#include "preserver_world.h"

namespace reprise {
namespace {

using namespace preserver_world;

Region any_region(std::int64_t bytes) {
  int kind = *rc::gen::inRange(0, 4);
  if (kind == 0) return Region::span(0, bytes);
  if (kind == 1) {
    std::int64_t lo = *rc::gen::inRange<std::int64_t>(0, bytes);
    return Region::span(lo, *rc::gen::inRange<std::int64_t>(lo, bytes + 1));
  }
  if (kind == 2) {
    std::int64_t width = *rc::gen::element<std::int64_t>(1, 4, 12, 16, 64);
    if (width > bytes) width = 1;
    auto rows = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, bytes / width));
    return Region::rows(0, width, rows);
  }
  std::vector<ByteRun> runs;
  for (int i = *rc::gen::inRange(0, 6); i > 0; --i) {
    std::int64_t lo = *rc::gen::inRange<std::int64_t>(0, bytes);
    runs.push_back({lo, std::min(bytes, lo + *rc::gen::inRange<std::int64_t>(0, 20))});
  }
  return Region::from_runs(runs);
}

enum class Options { whole, region, mixed, by_write };

StateOption any_option(Options options) {
  if (options == Options::whole) return StateOption::whole;
  if (options == Options::region) return StateOption::region;
  return *rc::gen::element(StateOption::whole, StateOption::region);
}

/// Serves some reads at once: of each storage the reads of one version.
void serve_some(World& world) {
  std::vector<ReadId> ids;
  std::vector<const Shelf::Pending*> served;
  for (Shelf& shelf : world.shelves()) {
    if (shelf.reads.empty() || !*rc::gen::arbitrary<bool>()) continue;
    const Shelf::Pending& first = shelf.reads[*rc::gen::inRange<std::size_t>(0, shelf.reads.size())];
    for (const Shelf::Pending& read : shelf.reads) {
      if (&read != &first && (read.version != first.version || !*rc::gen::arbitrary<bool>())) continue;
      ids.push_back(read.id);
      served.push_back(&read);
    }
  }
  world.preserver().serve(ids);
  for (const Shelf::Pending* read : served) {
    RC_ASSERT(world.preserver().version(read->id) == read->version);
    RC_ASSERT(world.sees_its_bytes(*read, world.preserver().base(read->id)));
  }
}

void one_step(World& world, Options options) {
  Shelf& shelf = world.shelves()[*rc::gen::inRange<std::size_t>(0, world.shelves().size())];
  std::int64_t bytes = shelf.storage->bytes();
  int what = *rc::gen::inRange(0, 12);
  if (what < 4) {
    world.owe(shelf, any_region(bytes), any_option(options));
  } else if (what < 7) {
    PreserveBy by = options != Options::by_write
                        ? PreserveBy::as_asked
                        : *rc::gen::element(PreserveBy::as_asked, PreserveBy::whole, PreserveBy::region);
    world.write(shelf, any_region(bytes), what == 6 && *rc::gen::arbitrary<bool>(), by);
  } else if (what < 9) {
    serve_some(world);
  } else if (what == 9) {
    if (shelf.reads.empty()) return;
    world.drop(shelf, *rc::gen::inRange<std::size_t>(0, shelf.reads.size()));
  } else if (what == 10) {
    RC_ASSERT(world.home(shelf));
    if (*rc::gen::arbitrary<bool>()) world.preserver().close_all();
  } else if (!shelf.reads.empty()) {
    const Shelf::Pending& read = shelf.reads[*rc::gen::inRange<std::size_t>(0, shelf.reads.size())];
    StorageRef copy = world.preserver().materialise(read.id);
    RC_ASSERT(world.sees_its_bytes(read, copy->raw()));
    bool changed = false;
    for (const ByteRun& run : read.region.runs()) {
      for (std::int64_t at = run.lo; at < run.hi; ++at) {
        changed |= shelf.newest[static_cast<std::size_t>(at)] != read.saw[static_cast<std::size_t>(at)];
      }
    }
    RC_ASSERT(!changed || world.preserver().broken(read.id));
  }
}

void one_history(Options options) {
  World world;
  std::int64_t free = world.memory().meter().live(Category::preserved);
  int storages = *rc::gen::inRange(1, 4);
  world.shelves().reserve(4);
  for (int i = 0; i < storages; ++i) world.shelf(*rc::gen::element<std::int64_t>(16, 200, 1000, 4096));
  int steps = *rc::gen::withSize([](int size) { return rc::gen::inRange(1, 5 + size); });
  for (int i = 0; i < steps; ++i) one_step(world, options);
  for (Shelf& shelf : world.shelves()) {  // last in, first out, as a backward goes
    while (!shelf.reads.empty()) {
      const Shelf::Pending& read = shelf.reads.back();
      world.preserver().serve(std::span(&read.id, 1));
      RC_ASSERT(world.sees_its_bytes(read, world.preserver().base(read.id)));
      world.drop(shelf, shelf.reads.size() - 1);
    }
    RC_ASSERT(world.home(shelf));
    RC_ASSERT(shelf.storage->obligations == 0);
  }
  RC_ASSERT(world.preserver().live().reads == 0);
  RC_ASSERT(world.preserver().open_blocks() == 0);
  RC_ASSERT(world.memory().meter().live(Category::preserved) == free);
}

void random_history(Options options) {
  for (int i = 0; i < 10; ++i) one_history(options);
}

RC_GTEST_PROP(PreserverProperty, EveryReadSeesItsBytesUnderWhole, ()) { random_history(Options::whole); }
RC_GTEST_PROP(PreserverProperty, EveryReadSeesItsBytesUnderRegion, ()) { random_history(Options::region); }
RC_GTEST_PROP(PreserverProperty, EveryReadSeesItsBytesMixed, ()) { random_history(Options::mixed); }
RC_GTEST_PROP(PreserverProperty, EveryReadSeesItsBytesWhereWritesSayHow, ()) { random_history(Options::by_write); }

/// Over a history of reads and writes the data kept by regions is never more than by whole copies, what comes on top is
/// row lists and rounding, and the records of one write cost no more than a copy.
RC_GTEST_PROP(PreserverProperty, RegionsKeepNoMoreDataThanCopies, ()) {
  World by_copy(false), by_region(false);
  std::int64_t bytes = *rc::gen::element<std::int64_t>(200, 1000, 4096);
  Shelf &a = by_copy.shelf(bytes), &b = by_region.shelf(bytes);
  const Meter& meter = by_region.memory().meter();
  std::vector<Region> live;
  std::int64_t data = 0;
  bool plain = false;
  for (int i = *rc::gen::inRange(1, 40); i > 0; --i) {
    Region region = any_region(bytes);
    if (*rc::gen::arbitrary<bool>()) {
      by_copy.owe(a, region, StateOption::whole);
      by_region.owe(b, region, StateOption::region);
      live.push_back(region);
      continue;
    }
    std::int64_t before = meter.live(Category::preserved);
    by_copy.write(a, region);
    by_region.write(b, region);
    Region killed;
    for (Region& each : live) {
      killed = unite(killed, intersect(each, region));
      each = subtract(each, region);
    }
    data += killed.bytes();
    std::int64_t charged = meter.live(Category::preserved) - before;
    RC_ASSERT(charged <= round_up_64(bytes));
    plain |= !killed.empty() && charged == round_up_64(bytes);
  }
  Preserver::Totals whole = by_copy.preserver().live(), parts = by_region.preserver().live();
  RC_ASSERT(data <= whole.copy_bytes);
  if (plain) return;
  RC_ASSERT(parts.block_bytes == data);
  std::int64_t on_top = meter.live(Category::preserved) - data - parts.row_list_bytes;
  RC_ASSERT(on_top >= 0);
  RC_ASSERT(on_top <= 63 * parts.blocks);
}

/// Which bytes of the model each byte's blocks hold: one block for each set of reads that owe the bytes of one write.
RC_GTEST_PROP(PreserverProperty, OneBlockPerWriteAndSetOfReads, ()) {
  World world;
  constexpr std::int64_t kBytes = 1 << 14;  // far more than the reads, so that no plain copy is made
  Shelf& shelf = world.shelf(kBytes);
  std::vector<Region> regions;
  for (int i = *rc::gen::inRange(1, 12); i > 0; --i) {
    regions.push_back(any_region(300));
    world.owe(shelf, regions.back(), StateOption::region);
    if (regions.size() % 3 == 0) {  // some are forgotten
      std::size_t gone = *rc::gen::inRange<std::size_t>(0, regions.size());
      world.drop(shelf, gone);
      regions.erase(regions.begin() + static_cast<std::ptrdiff_t>(gone));
    }
  }
  Region written = any_region(300);
  world.write(shelf, written);
  std::map<std::vector<std::size_t>, std::int64_t> expected;  // set of reads: bytes
  for (std::int64_t at = 0; at < 300; ++at) {
    Region byte = Region::span(at, at + 1);
    if (!written.overlaps(byte)) continue;
    std::vector<std::size_t> owing;
    for (std::size_t r = 0; r < regions.size(); ++r) {
      if (regions[r].overlaps(byte)) owing.push_back(r);
    }
    if (!owing.empty()) ++expected[owing];
  }
  std::map<const void*, std::vector<std::size_t>> readers;
  std::map<const void*, std::int64_t> held;
  for (std::size_t r = 0; r < regions.size(); ++r) {
    for (const Preserver::Kept& kept : world.preserver().kept(shelf.reads[r].id)) {
      readers[kept.id].push_back(r);
      held[kept.id] = kept.data_bytes;
    }
  }
  std::map<std::vector<std::size_t>, std::int64_t> got;
  for (const auto& [id, list] : readers) got[list] += held[id];
  RC_ASSERT(got == expected);
  RC_ASSERT(readers.size() == expected.size());
}

/// A memory that refuses the n-th request: then nothing has changed, and the write can be made again.
RC_GTEST_PROP(PreserverProperty, RefusedMemoryChangesNothing, ()) {
  World world;
  Shelf& shelf = world.shelf(2000);
  for (int i = *rc::gen::inRange(1, 8); i > 0; --i) world.owe(shelf, any_region(2000), any_option(Options::mixed));
  Region region = any_region(2000);
  Meter& meter = world.memory().meter();
  std::int64_t before = meter.live();
  meter.set_budget(before + *rc::gen::inRange<std::int64_t>(64, 4000));
  Clock clock = shelf.storage->clock();
  bool refused = false;
  try {
    shelf.storage->announce(region, Writer{"writer", 1});
  } catch (const Error& error) {
    refused = true;
    RC_ASSERT(error.kind() == ErrorKind::memory);
  }
  if (refused) {
    RC_ASSERT(meter.live() == before);
    RC_ASSERT(shelf.storage->clock() == clock);
    for (const Shelf::Pending& read : shelf.reads) RC_ASSERT(!world.preserver().broken(read.id));
  }
  meter.set_budget(0);
  world.write(shelf, region);
  for (const Shelf::Pending& read : shelf.reads) {
    world.preserver().serve(std::span(&read.id, 1));
    RC_ASSERT(world.sees_its_bytes(read, world.preserver().base(read.id)));
  }
  RC_ASSERT(world.home(shelf));
}

}  // namespace
}  // namespace reprise
