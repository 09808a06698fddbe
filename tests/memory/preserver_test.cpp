#include "memory/preserver.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "preserver_world.h"

namespace reprise {
namespace {

using namespace preserver_world;

TEST(Preserver, ReadsOfOneClassShareOneCopy) {
  World world;
  Shelf& shelf = world.shelf(1000);
  world.owe(shelf, Region::span(0, 100), StateOption::whole);
  world.owe(shelf, Region::span(50, 1000), StateOption::whole);
  world.owe(shelf, Region::span(900, 1000), StateOption::whole);
  world.write(shelf, Region::span(60, 70));
  EXPECT_EQ(world.preserver().live().copies, 1);
  EXPECT_FALSE(world.preserver().broken(shelf.reads[2].id));
  world.write(shelf, Region::span(0, 100));  // breaks nobody who is left
  EXPECT_EQ(world.preserver().ever().copies, 1);
  world.write(shelf, Region::span(950, 951));
  EXPECT_EQ(world.preserver().live().copies, 2);
  EXPECT_EQ(world.memory().meter().live(Category::preserved), 2 * 1024);
}

TEST(Preserver, TheFirstWriteThatBreaksAReadMaySayHowItIsKept) {
  World world;
  Shelf& shelf = world.shelf(1024);
  world.owe(shelf, Region::span(0, 512), StateOption::region);
  world.owe(shelf, Region::span(0, 512), StateOption::whole);
  world.write(shelf, Region::span(0, 64), false, PreserveBy::region);
  EXPECT_EQ(world.preserver().live().copies, 0);
  EXPECT_EQ(world.preserver().live().blocks, 1);
  world.write(shelf, Region::span(64, 128), false, PreserveBy::whole);  // both are settled
  EXPECT_EQ(world.preserver().live().copies, 0);
  EXPECT_EQ(world.preserver().live().blocks, 2);
  world.owe(shelf, Region::span(600, 700), StateOption::region);
  world.write(shelf, Region::span(650, 651), false, PreserveBy::whole);
  EXPECT_EQ(world.preserver().live().copies, 1);
  for (const Shelf::Pending& read : shelf.reads) {
    world.preserver().serve(std::span(&read.id, 1));
    EXPECT_TRUE(world.sees_its_bytes(read, world.preserver().base(read.id)));
  }
  EXPECT_TRUE(world.home(shelf));
}

TEST(Preserver, RecordsAsLargeAsACopyAreOnePlainCopy) {
  World world;
  Shelf& shelf = world.shelf(1024);
  world.owe(shelf, Region::rows(0, 4, std::vector<std::int64_t>{0, 2, 5, 8}), StateOption::region);
  world.owe(shelf, Region::span(0, 1024), StateOption::region);
  world.write(shelf, Region::span(0, 1020));
  EXPECT_EQ(world.preserver().live().blocks, 1);
  EXPECT_EQ(world.memory().meter().live(Category::preserved), 1024);
  for (const Shelf::Pending& read : shelf.reads) {
    EXPECT_TRUE(world.preserver().kept(read.id).front().whole);
    world.preserver().serve(std::span(&read.id, 1));
    EXPECT_TRUE(world.sees_its_bytes(read, world.preserver().base(read.id)));
  }
  EXPECT_TRUE(world.home(shelf));
}

TEST(Preserver, ManyReadsOneByOneFindTheirRows) {
  World world(false);
  constexpr std::int64_t kRows = 3000;
  Shelf& shelf = world.shelf(kRows * 16);
  shelf.newest.resize(kRows * 16);
  std::vector<ReadId> ids;
  std::vector<unsigned char> saw;
  for (std::int64_t i = 0; i < kRows; ++i) {
    std::int64_t row = i * 7 % kRows;
    ids.push_back(
        world.preserver().owe(*shelf.storage, Region::span(row * 16, row * 16 + 12), StateOption::region, kLabel));
    saw.push_back(shelf.newest[static_cast<std::size_t>(row * 16)]);
    if (i % 2) world.write(shelf, Region::span(row * 16, row * 16 + 16));
  }
  EXPECT_EQ(world.preserver().live().blocks, kRows / 2);
  for (std::int64_t i = 0; i < kRows; ++i) {
    ReadId id = ids[static_cast<std::size_t>(i * 11 % kRows)];
    std::int64_t at = world.preserver().region(id).cover().lo;
    world.preserver().serve(std::span(&id, 1));
    EXPECT_EQ(static_cast<unsigned char>(world.preserver().base(id)[at]),
              saw[static_cast<std::size_t>(i * 11 % kRows)]);
    world.preserver().drop(id);
  }
  EXPECT_TRUE(world.home(shelf));
  EXPECT_EQ(world.memory().meter().live(Category::preserved), 0);
}

TEST(Preserver, FewReadsUnderManyWritesMoveToTheIndexAndSeeTheSame) {
  World world;
  Shelf& shelf = world.shelf(64 * 16);
  for (std::int64_t r = 0; r < 6; ++r) {
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < 20; ++i) rows.push_back((i * (r + 3) + r) % 64);
    world.owe(shelf, Region::rows(0, 16, rows), r == 5 ? StateOption::whole : StateOption::region);
  }
  for (std::int64_t w = 0; w < 80; ++w) {  // a few writes find the reads one by one, all later ones by the index
    world.write(shelf, Region::rows(0, 16, std::vector<std::int64_t>{w * 7 % 64, w * 13 % 64}));
    for (const Shelf::Pending& read : shelf.reads) {
      world.preserver().serve(std::span(&read.id, 1));
      ASSERT_TRUE(world.sees_its_bytes(read, world.preserver().base(read.id))) << "read " << read.id << ", write " << w;
    }
    ASSERT_TRUE(world.home(shelf)) << "write " << w;
  }
  EXPECT_EQ(world.preserver().live().copies, 1);
}

TEST(Preserver, DroppingAReadClosesWhatItHadOpen) {
  World world;
  Shelf& shelf = world.shelf(256);
  std::size_t read = world.owe(shelf, Region::span(0, 64), StateOption::region);
  world.write(shelf, Region::span(0, 32));
  world.preserver().serve(std::span(&shelf.reads[read].id, 1));
  EXPECT_EQ(world.preserver().open_blocks(), 1);
  world.drop(shelf, read);
  EXPECT_EQ(world.preserver().open_blocks(), 0);
  EXPECT_EQ(bytes_at(shelf.storage->raw(), 256), shelf.newest);
}

TEST(Preserver, GuardNamesTheForeignWrite) {
  World world;
  Shelf& shelf = world.shelf(256);
  shelf.storage->set_name("queue");
  std::size_t read = world.owe(shelf, Region::span(0, 64), StateOption::region);
  shelf.storage->raw()[3] ^= std::byte{1};
  try {
    world.preserver().serve(std::span(&shelf.reads[read].id, 1));
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::replay);
    EXPECT_NE(std::string(error.what()).find("queue"), std::string::npos);
  }
}

TEST(Preserver, AWriteThatFindsNoMemoryChangesNothing) {
  for (bool bounding : {false, true}) {
    World world;
    if (bounding) world.preserver().set_bounding(true);
    Shelf& shelf = world.shelf(1024);
    for (int i = 0; i < 3; ++i) world.owe(shelf, Region::span(0, 64), StateOption::whole);
    world.owe(shelf, Region::span(0, 32), StateOption::region);
    int requests = bounding ? 4 : 2;  // in a trace that bounds the real step each read has a copy of its own
    for (int at = 0; at < requests; ++at) {
      world.memory().fail_allocation(at);
      EXPECT_THROW(shelf.storage->host_write(Region::span(0, 64)), Error);
      EXPECT_EQ(shelf.storage->clock(), 0u);
      EXPECT_EQ(world.preserver().host_saves(), 0u);
      EXPECT_EQ(world.preserver().live().copies + world.preserver().live().blocks, 0) << at;
      EXPECT_EQ(world.memory().meter().live(Category::preserved), 0) << at;
    }
    world.memory().fail_allocation(-1);
    world.write(shelf, Region::span(0, 64), true);
    EXPECT_EQ(world.preserver().live().copies, bounding ? 3 : 1);
    EXPECT_EQ(world.preserver().live().blocks, 1);
    EXPECT_EQ(world.preserver().host_saves(), 1u);
  }
}

TEST(Preserver, UncheckedKeepsNothing) {
  World world(false);
  world.preserver().set_unchecked(true);
  Shelf& shelf = world.shelf(256);
  world.owe(shelf, Region::span(0, 64), StateOption::region);
  world.write(shelf, Region::span(0, 64));
  EXPECT_EQ(world.preserver().ever().blocks, 0);
  EXPECT_FALSE(world.preserver().broken(shelf.reads[0].id));
}

}  // namespace
}  // namespace reprise
