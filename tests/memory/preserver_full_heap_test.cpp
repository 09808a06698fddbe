// The heap runs out in the middle of what the preserver does: each request of a history of reads and writes is refused
// once, in a run of its own. What was asked for has then not happened, every read still has its bytes, and asked again
// it happens.
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "core/philox.h"
#include "preserver_world.h"
#include "tests/support/full_heap_new.h"

namespace reprise {
namespace {

using namespace preserver_world;

constexpr std::int64_t kRowBytes = 8, kRows = 1024;

class FullHeapHistory {
 public:
  /// The `refused`-th request of the history's calls of the preserver is refused.
  FullHeapHistory(std::uint64_t seed, std::int64_t refused) : seed_(seed), left_(refused) {
    world_.shelf(kRows * kRowBytes).reads.reserve(256);
  }

  /// Whether one was: else the history has no more.
  bool run() {
    for (int i = 0; i < 90; ++i) step(i);
    check("at the end");
    world_.drop_all();
    EXPECT_EQ(world_.preserver().live().reads, 0);
    EXPECT_EQ(world_.memory().meter().live(), kRows * kRowBytes);
    EXPECT_TRUE(world_.home(shelf()));
    return refused_;
  }

 private:
  Shelf& shelf() { return world_.shelves().front(); }
  std::int64_t draw(std::int64_t below) {
    return static_cast<std::int64_t>(philox_word(seed_, 1, drawn_++) % static_cast<std::uint64_t>(below));
  }

  Region some_rows() {
    if (draw(4) == 0) {
      std::int64_t lo = draw(kRows - 1);
      return Region::span(lo * kRowBytes, (lo + 1 + draw(kRows - lo)) * kRowBytes);
    }
    std::vector<std::int64_t> rows;
    for (std::int64_t i = draw(300); i >= 0; --i) rows.push_back(draw(kRows));
    return Region::rows(0, kRowBytes, rows);
  }

  /// Does it, twice where a request is refused.
  template <class Act>
  void attempt(const char* what, const Act& act) {
    bool again = false;
    {
      full_heap::Refusing refusing(left_);
      try {
        act();
      } catch (const std::bad_alloc&) {
        again = true;
      }
      left_ = full_heap::left;
    }
    if (!again) return;
    refused_ = true;
    left_ = -1;
    world_.preserver().close_all();
    check(what);
    act();
  }

  void step(int i) {
    std::int64_t kind = draw(10);
    Shelf& s = shelf();
    if (kind < 4 || s.reads.size() < 3 || i < 40) {
      Region region = some_rows();
      StateOption option = draw(5) == 0 ? StateOption::whole : StateOption::region;
      std::optional<ReadId> id;
      attempt("owe", [&] { id = world_.preserver().owe(*s.storage, region, option, kLabel); });
      s.reads.push_back({*id, region, s.newest, s.storage->clock()});
      if (i % 8 != 0) return;
    }
    if (kind < 7) {
      Region region = some_rows();
      attempt("write", [&] { world_.write(s, region); });
    } else if (kind < 9) {
      std::size_t r = static_cast<std::size_t>(draw(static_cast<std::int64_t>(s.reads.size())));
      ReadId ids[] = {s.reads[r].id};
      attempt("serve", [&] { world_.preserver().serve(ids); });
      EXPECT_TRUE(world_.sees_its_bytes(s.reads[r], world_.preserver().base(ids[0])));
      attempt("materialise", [&] { world_.preserver().materialise(ids[0]); });
    } else {
      world_.drop(s, static_cast<std::size_t>(draw(static_cast<std::int64_t>(s.reads.size()))));
    }
  }

  void check(const char* when) {
    EXPECT_TRUE(world_.home(shelf())) << when;
    for (const Shelf::Pending& read : shelf().reads) {
      ReadId ids[] = {read.id};
      world_.preserver().serve(ids);
      EXPECT_TRUE(world_.sees_its_bytes(read, world_.preserver().base(read.id))) << when;
    }
    world_.preserver().close_all();
    EXPECT_TRUE(world_.home(shelf())) << when;
  }

  World world_;
  std::uint64_t seed_, drawn_ = 0;
  std::int64_t left_;
  bool refused_ = false;
};

TEST(PreserverFullHeap, EveryReadKeepsItsBytesWhicheverRequestIsRefused) {
  if (!full_heap::kFullHeap) GTEST_SKIP() << "a sanitizer has the heap";
  for (std::uint64_t seed : {1, 2}) {
    bool refused = true;
    std::int64_t n = 0;
    for (; refused && !::testing::Test::HasFailure(); ++n) {
      // A thread of its own, which keeps no memory that goes round.
      std::thread([&] { refused = FullHeapHistory(seed, n).run(); }).join();
    }
    EXPECT_GT(n, 100) << "seed " << seed;
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << "seed " << seed << ", request " << n - 1;
      break;
    }
  }
}

}  // namespace
}  // namespace reprise
