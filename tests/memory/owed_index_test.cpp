// The index of owed bytes against a list of regions, through many chunks and rewritings.
#include "memory/owed_index.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace reprise {
namespace {

using ByteRun = Run;  // inside a test body, Run is a member of the test class
using Answer = std::map<std::vector<OwedIndex::Reader>, Region>;

struct Model {
  struct Read {
    OwedIndex::Reader reader;
    OwedIndex::Slot slot;
    bool whole;
    Region live;
  };
  std::vector<Read> reads;

  Answer claims(const Region& region) const {
    Answer parts;  // of the region, each with its readers
    parts[{}] = region;
    for (const Read& read : reads) {
      if (read.whole) continue;
      Answer next;
      for (const auto& [readers, part] : parts) {
        Region in = intersect(part, read.live), out = subtract(part, read.live);
        std::vector<OwedIndex::Reader> more = readers;
        more.push_back(read.reader);
        if (!in.empty()) next[more] = in;
        if (!out.empty()) next[readers] = out;
      }
      parts = std::move(next);
    }
    parts.erase(std::vector<OwedIndex::Reader>{});
    return parts;
  }
};

void require_same(OwedIndex& index, const Model& model, const Region& region) {
  OwedIndex::Found found;
  index.find(region, PreserveBy::as_asked, found);
  Answer got;
  for (const OwedIndex::Claim& claim : found.claims()) {
    std::vector<OwedIndex::Reader> readers = claim.readers;
    std::sort(readers.begin(), readers.end());
    Region part = Region::from_runs(claim.runs);
    RC_ASSERT(part.run_count() == claim.runs.size());  // canonical
    RC_ASSERT(got.emplace(readers, part).second);
  }
  RC_ASSERT(got == model.claims(region));
  std::vector<OwedIndex::Reader> whole(found.whole().begin(), found.whole().end()), expected;
  for (const Model::Read& read : model.reads) {
    if (read.whole && read.live.overlaps(region)) expected.push_back(read.reader);
  }
  std::sort(whole.begin(), whole.end());
  RC_ASSERT(whole == expected);
}

Region rows_of(int most, std::int64_t width) {
  std::vector<std::int64_t> rows;
  int count = *rc::gen::inRange(0, most);
  std::int64_t step = *rc::gen::element<std::int64_t>(1, 2, 3, 7);
  std::int64_t first = *rc::gen::inRange<std::int64_t>(0, 500);
  for (int i = 0; i < count; ++i) rows.push_back(first + i * step);
  return Region::rows(*rc::gen::inRange<std::int64_t>(0, 4), width, rows);
}

RC_GTEST_PROP(OwedIndexProperty, AnswersAsAListOfRegionsDoes, ()) {
  OwedIndex::Scratch scratch;
  OwedIndex index(scratch);
  Model model;
  OwedIndex::Reader next = 0;
  for (int i = *rc::gen::inRange(1, 40); i > 0; --i) {
    int what = *rc::gen::inRange(0, 8);
    if (what < 4) {
      bool whole = *rc::gen::arbitrary<bool>();
      Region region = rows_of(*rc::gen::element(3, 30, 700), *rc::gen::element<std::int64_t>(1, 4, 5));
      model.reads.push_back({next, index.add(region, next, whole), whole, region});
      ++next;
    } else if (what < 6) {
      Region region = rows_of(*rc::gen::element(3, 400), *rc::gen::element<std::int64_t>(2, 4, 300));
      require_same(index, model, region);
      index.take(region);
      for (Model::Read& read : model.reads) read.live = subtract(read.live, region);
    } else if (what == 6 && !model.reads.empty()) {
      std::size_t gone = *rc::gen::inRange<std::size_t>(0, model.reads.size());
      index.forget(model.reads[gone].slot);
      model.reads.erase(model.reads.begin() + static_cast<std::ptrdiff_t>(gone));
    }
    require_same(index, model, Region::span(0, 10000));
  }
}

TEST(OwedIndex, QueriesAreToldApartAfterTheirNumberHasGoneRound) {
  OwedIndex::Scratch scratch;
  OwedIndex index(scratch, 0xfffffffe);
  OwedIndex::Found found;
  index.add(Region::span(0, 64), 7, false);
  index.add(Region::span(64, 128), 8, true);
  for (int i = 0; i < 4; ++i) {
    index.find(Region::span(0, 128), PreserveBy::as_asked, found);
    ASSERT_EQ(found.claims().size(), 1U) << "query " << i;
    EXPECT_EQ(found.claims()[0].readers, std::vector<OwedIndex::Reader>{7});
    ASSERT_EQ(found.whole().size(), 1U) << "query " << i;
    EXPECT_EQ(found.whole()[0], 8U);
    // A read that comes between two queries has not been looked at by either.
    OwedIndex::Slot slot = index.add(Region::span(256, 320), 9, false);
    index.find(Region::span(256, 320), PreserveBy::as_asked, found);
    ASSERT_EQ(found.claims().size(), 1U) << "query " << i;
    EXPECT_EQ(found.claims()[0].readers, std::vector<OwedIndex::Reader>{9});
    index.take(Region::span(256, 320));
    index.forget(slot);
  }
}

TEST(OwedIndex, ForgottenReadsDoNotPileUp) {
  OwedIndex::Scratch scratch;
  OwedIndex index(scratch);
  index.add(Region::span(0, 4096), 0, false);
  OwedIndex::Found found;
  for (OwedIndex::Reader r = 1; r < 5000; ++r) {
    std::int64_t at = r * 37 % 4000;
    index.forget(index.add(Region::span(at, at + 5), r, false));
    ASSERT_LT(index.pieces(), 600U);
  }
  index.find(Region::span(0, 4096), PreserveBy::as_asked, found);
  ASSERT_EQ(found.claims().size(), 1U);
  ASSERT_EQ(found.claims()[0].runs.size(), 1U);
  EXPECT_EQ(found.claims()[0].runs[0], (ByteRun{0, 4096}));
}

}  // namespace
}  // namespace reprise
