// Objects that hundreds of segments use until different rows, as state that every replay of a long step reads.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "recompute/solver/random.h"
#include "recompute/solver/solve.h"

namespace reprise::solver {
namespace {

/// A forward of `count` segments and its backward. What a segment keeps lives until its backward; every replay reads
/// one object, which therefore lives until the backward of the first segment that is replayed. Rows hold about as much
/// in the whole backward, so that no row can be left out.
class ManyReaders {
 public:
  ManyReaders(std::int32_t count, std::uint64_t seed) : count_(count) {
    Random random(seed);
    instance_.base.assign(static_cast<std::size_t>(2 * count), 0);
    Object read{"read by all replays", kShared, 0, count - 1, {}};
    for (std::int32_t i = 0; i < count; ++i) {
      bytes_.push_back(random.between(50, 100));
      times_.push_back(bytes_.back() * 10 + random.between(0, 300));
      instance_.segments.push_back({"s", {{"retain", true, 0, {}}, {"replay", false, times_.back(), {}}}});
      instance_.objects.push_back({"kept", bytes_.back(), 0, i, {{i, 1, 2 * count - 1 - i, -1, StateChoice::whole}}});
      read.uses.push_back({i, 2, 2 * count - 1 - i, -1, StateChoice::whole});
    }
    instance_.objects.push_back(read);
    std::int64_t total = 0;
    for (std::int64_t bytes : bytes_) total += bytes;
    std::int64_t before = 0;
    for (std::int32_t i = 0; i < count; ++i) {
      before += bytes_[static_cast<std::size_t>(i)];
      std::int64_t room = 150 + before * 3 / 4 + kShared;  // of what segments 0 to i keep and all replays read
      room_.push_back(room);
      instance_.base[static_cast<std::size_t>(2 * count - 1 - i)] = total + kShared - room;
    }
    budget_ = total + kShared;
  }

  const Instance& instance() const { return instance_; }
  std::int64_t budget() const { return budget_; }

  /// The least time of all plans: by what segments 0 to i keep together, and whether one of them is replayed.
  std::int64_t least_time() const {
    constexpr std::int64_t kNever = INT64_MAX / 4;
    auto most = static_cast<std::size_t>(room_.back() + 1);
    std::vector<std::int64_t> retained(most, kNever), replayed(most, kNever);
    retained[0] = 0;
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      std::vector<std::int64_t> next_retained(most, kNever), next_replayed(most, kNever);
      for (std::size_t kept = 0; kept < most; ++kept) {
        auto more = kept + static_cast<std::size_t>(bytes_[i]);
        if (more < most && static_cast<std::int64_t>(more) <= room_[i])
          next_retained[more] = std::min(next_retained[more], retained[kept]);
        if (more < most && static_cast<std::int64_t>(more) + kShared <= room_[i])
          next_replayed[more] = std::min(next_replayed[more], replayed[kept]);
        if (static_cast<std::int64_t>(kept) + kShared <= room_[i])
          next_replayed[kept] = std::min(next_replayed[kept], std::min(retained[kept], replayed[kept]) + times_[i]);
      }
      retained = std::move(next_retained);
      replayed = std::move(next_replayed);
    }
    return std::min(*std::min_element(retained.begin(), retained.end()),
                    *std::min_element(replayed.begin(), replayed.end()));
  }

 private:
  static constexpr std::int64_t kShared = 60;
  std::int32_t count_;
  Instance instance_;
  std::vector<std::int64_t> bytes_, times_, room_;
  std::int64_t budget_ = 0;
};

TEST(ManyLevels, ABoundIsNoneOnlyBecauseAnObjectHasMoreThan255Levels) {
  for (std::int32_t count : {200, 300}) {
    for (std::uint64_t seed : {1, 2, 3}) {
      ManyReaders step(count, seed);
      std::int64_t least = step.least_time();
      Solution solution = solve(step.instance(), step.budget(), {});
      ASSERT_TRUE(solution.feasible) << count << " segments, seed " << seed;
      EXPECT_LE(solution.lower_bound_ns, least) << count << " segments, seed " << seed;
      EXPECT_GE(solution.time_ns, least) << count << " segments, seed " << seed;
      EXPECT_TRUE(!solution.proven || solution.time_ns == least) << count << " segments, seed " << seed;
    }
  }
}

}  // namespace
}  // namespace reprise::solver
