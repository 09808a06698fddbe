#include "core/storage.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/error.h"

namespace reprise {
namespace {

/// Plain heap memory that remembers what it was told.
class CountingAllocator : public Allocator {
 public:
  Device device() const override { return {}; }
  Allocation allocate(std::int64_t bytes, Category) override {
    if (refuse) fail(ErrorKind::memory, "[test] expected room, got none");
    ++live;
    std::int64_t charged = round_up_64(bytes);
    return {static_cast<std::byte*>(std::aligned_alloc(64, static_cast<std::size_t>(charged + 64))), charged};
  }
  void release(const Allocation& allocation, Category category) noexcept override {
    --live;
    released = category;
    std::free(allocation.data);
  }
  void set_name(const Allocation&, const char* text) noexcept override { name = text; }

  int live = 0;
  bool refuse = false;
  Category released = Category::data;
  std::string name;
};

class RecordingObserver : public WriteObserver {
 public:
  void before_write(Storage& storage, const Region& region, const Writer& writer) override {
    if (refuse) fail(ErrorKind::memory, "[test] expected room to preserve, got none");
    events.push_back("write " + region.describe() + " by " + writer.name + " at " + std::to_string(storage.clock()));
  }
  void before_host_access(Storage&) noexcept override { events.push_back("host"); }
  void storage_dies(Storage&) noexcept override { events.push_back("dies"); }

  bool refuse = false;
  std::vector<std::string> events;
};

class StorageDoors : public ::testing::Test {
 protected:
  StorageRef make(std::int64_t bytes = 256) { return Storage::create(allocator_, &observer_, bytes, Category::state); }
  CountingAllocator allocator_;
  RecordingObserver observer_;
};

TEST_F(StorageDoors, EveryWriteTicksTheClockOnce) {
  StorageRef storage = make();
  EXPECT_EQ(storage->clock(), 0u);
  storage->announce(Region::span(0, 64), {"add", 1});
  EXPECT_EQ(storage->clock(), 1u);
  storage->host_write(Region::span(64, 128));
  EXPECT_EQ(storage->clock(), 2u);
  storage->announce(Region::rows(0, 16, std::vector<std::int64_t>{1, 3, 5}), {"write_rows", 2});
  EXPECT_EQ(storage->clock(), 3u) << "one write of three rows is one tick";
  storage->host_read();
  storage->raw();
  EXPECT_EQ(storage->clock(), 3u) << "a read is no write";
}

TEST_F(StorageDoors, AConstantRefusesEveryWrite) {
  StorageRef storage = make();
  storage->host_write(Region::span(0, 256))[0] = std::byte{7};
  storage->mark_constant();
  EXPECT_THROW(storage->announce(Region::span(0, 1), {"add", 1}), Error);
  EXPECT_THROW(storage->host_write(Region::span(0, 1)), Error);
  EXPECT_EQ(storage->clock(), 1u);
  EXPECT_EQ(storage->host_read()[0], std::byte{7});
}

TEST_F(StorageDoors, NobodyIsToldWhileNothingIsOwed) {
  StorageRef storage = make();
  storage->announce(Region::span(0, 64), {"add", 1});
  storage->host_read();
  storage->host_write(Region::span(0, 64));
  EXPECT_TRUE(observer_.events.empty());
}

TEST_F(StorageDoors, TheObserverIsToldBeforeAWriteWithRegionAndWriter) {
  StorageRef storage = make();
  storage->obligations = 1;
  storage->announce(Region::span(64, 128), {"enqueue", 9});
  ASSERT_EQ(observer_.events.size(), 1u);
  EXPECT_EQ(observer_.events[0], "write [64, 128) by enqueue at 0") << "told before the clock moves";
}

TEST_F(StorageDoors, HostAccessPutsTheNewestBytesBackFirst) {
  StorageRef storage = make();
  storage->obligations = 1;
  storage->host_read();
  storage->host_write(Region::span(0, 8), "loader");
  EXPECT_EQ(observer_.events, (std::vector<std::string>{"host", "host", "write [0, 8) by loader at 0"}));
}

TEST_F(StorageDoors, ARefusedWriteLeavesTheClock) {
  StorageRef storage = make();
  storage->obligations = 1;
  observer_.refuse = true;
  EXPECT_THROW(storage->announce(Region::span(0, 8), {"add", 1}), Error);
  EXPECT_EQ(storage->clock(), 0u);
  observer_.refuse = false;
  storage->announce(Region::span(0, 8), {"add", 1});
  EXPECT_EQ(storage->clock(), 1u);
}

TEST_F(StorageDoors, TheLastReferenceFreesTheBytes) {
  StorageRef first = make();
  StorageRef second = first;
  first.reset();
  EXPECT_EQ(allocator_.live, 1);
  second = nullptr;
  EXPECT_EQ(allocator_.live, 0);
  EXPECT_EQ(allocator_.released, Category::state);
}

TEST_F(StorageDoors, TheObserverLearnsOfADeathOnlyIfItKeepsALedger) {
  make().reset();
  EXPECT_TRUE(observer_.events.empty());
  StorageRef storage = make();
  int ledger = 0;
  storage->ledger = &ledger;
  storage.reset();
  EXPECT_EQ(observer_.events, std::vector<std::string>{"dies"});
  EXPECT_EQ(allocator_.live, 0);
}

TEST_F(StorageDoors, ARefusedAllocationLeavesNothingBehind) {
  allocator_.refuse = true;
  EXPECT_THROW(make(), Error);
  EXPECT_EQ(allocator_.live, 0);
}

TEST_F(StorageDoors, EachStorageHasItsOwnNumberAndName) {
  StorageRef a = make(), b = make(0);
  EXPECT_LT(a->serial(), b->serial());
  EXPECT_EQ(b->bytes(), 0);
  a->set_name("queue");
  EXPECT_EQ(a->name(), "queue");
  EXPECT_EQ(allocator_.name, "queue") << "the allocator names it in its errors";
}

}  // namespace
}  // namespace reprise
