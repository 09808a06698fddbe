#include "core/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/thread_pool.h"

namespace reprise {
namespace {

class Parallel : public ::testing::Test {
 protected:
  void TearDown() override { set_thread_count(before_); }
  int before_ = thread_count();
};

using Pieces = std::vector<std::pair<std::int64_t, std::int64_t>>;

Pieces pieces_of(std::int64_t n, std::int64_t grain) {
  Pieces pieces;
  std::mutex mutex;
  parallel_blocks(n, grain, [&](std::int64_t begin, std::int64_t end) {
    std::lock_guard lock(mutex);
    pieces.emplace_back(begin, end);
  });
  std::sort(pieces.begin(), pieces.end());
  return pieces;
}

TEST_F(Parallel, BlocksDependOnSizeAndGrainOnly) {
  for (int threads : {1, 2, 3, 8}) {
    set_thread_count(threads);
    EXPECT_EQ(pieces_of(10, 4), (Pieces{{0, 4}, {4, 8}, {8, 10}})) << threads;
    EXPECT_EQ(pieces_of(8, 4), (Pieces{{0, 4}, {4, 8}})) << threads;
    EXPECT_EQ(pieces_of(3, 4), (Pieces{{0, 3}})) << threads;
    EXPECT_EQ(pieces_of(0, 4), Pieces{}) << threads;
    EXPECT_EQ(pieces_of(-5, 4), Pieces{}) << threads;
  }
}

TEST_F(Parallel, EveryIndexIsVisitedOnce) {
  for (int threads : {1, 2, 5}) {
    set_thread_count(threads);
    std::vector<int> visits(100'003, 0);
    parallel_for(
        Device{}, static_cast<std::int64_t>(visits.size()), [&](std::int64_t i) { ++visits[i]; }, 777);
    EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), static_cast<std::int64_t>(visits.size())) << threads;
  }
}

TEST_F(Parallel, ReductionByBlocksHasTheSameBitsForAnyThreadCount) {
  constexpr std::int64_t kN = 1'000'000, kGrain = 4096;
  auto sum = [&] {
    std::vector<float> partial((kN + kGrain - 1) / kGrain);
    parallel_blocks(kN, kGrain, [&](std::int64_t begin, std::int64_t end) {
      float s = 0;
      for (std::int64_t i = begin; i < end; ++i) s += 1.0f / static_cast<float>(i + 1);
      partial[begin / kGrain] = s;
    });
    return std::accumulate(partial.begin(), partial.end(), 0.0f);
  };
  set_thread_count(1);
  float one = sum();
  for (int threads : {2, 3, 4, 7}) {
    set_thread_count(threads);
    float many = sum();
    EXPECT_EQ(std::memcmp(&one, &many, sizeof one), 0) << threads;
  }
}

TEST_F(Parallel, SeveralThreadsTakePartAndKeepConsecutiveBlocks) {
  set_thread_count(4);
  std::vector<std::thread::id> owner(16);
  parallel_blocks(16, 1, [&](std::int64_t begin, std::int64_t) { owner[begin] = std::this_thread::get_id(); });
  EXPECT_EQ(std::set<std::thread::id>(owner.begin(), owner.end()).size(), 4u);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(owner[i], owner[i / 4 * 4]) << i;
  EXPECT_EQ(owner[0], std::this_thread::get_id());
}

TEST_F(Parallel, NestedLoopStaysOnItsThread) {
  set_thread_count(3);
  std::atomic<int> strays = 0, inner = 0;
  parallel_blocks(9, 1, [&](std::int64_t, std::int64_t) {
    auto self = std::this_thread::get_id();
    parallel_blocks(50, 10, [&](std::int64_t begin, std::int64_t end) {
      inner += static_cast<int>(end - begin);
      strays += std::this_thread::get_id() != self;
    });
  });
  EXPECT_EQ(strays, 0);
  EXPECT_EQ(inner, 9 * 50);
}

TEST_F(Parallel, OneBlockRunsOnTheCaller) {
  set_thread_count(4);
  std::thread::id worker;
  parallel_blocks(100, 100, [&](std::int64_t, std::int64_t) { worker = std::this_thread::get_id(); });
  EXPECT_EQ(worker, std::this_thread::get_id());
}

TEST_F(Parallel, TwoHostThreadsMayLoopAtOnce) {
  set_thread_count(2);
  std::vector<std::int64_t> totals(2);
  auto loop = [&](int who) {
    for (int round = 0; round < 200; ++round) {
      std::vector<std::int64_t> partial(8);
      parallel_blocks(8, 1, [&](std::int64_t begin, std::int64_t) { partial[begin] = begin; });
      totals[who] += std::accumulate(partial.begin(), partial.end(), std::int64_t{0});
    }
  };
  // OpenMP's own hand-overs are tested by its makers; here the loader's use beside the step's thread must not break.
  std::thread other(loop, 1);
  loop(0);
  other.join();
  EXPECT_EQ(totals, (std::vector<std::int64_t>{200 * 28, 200 * 28}));
}

TEST_F(Parallel, RefusesFewerThanOneThread) {
  for (int count : {0, -3}) {
    try {
      set_thread_count(count);
      FAIL() << "no error for " << count;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::user);
      EXPECT_NE(error.message().find(std::to_string(count)), std::string::npos);
    }
  }
  EXPECT_EQ(thread_count(), before_);
}

TEST_F(Parallel, RefusesAGrainBelowOne) {
  EXPECT_THROW(parallel_blocks(10, 0, [](std::int64_t, std::int64_t) {}), Error);
}

// The pool of builds without OpenMP, tested in every build.

TEST(ThreadPool, EachMemberIsCalledOnceWhateverTheTeamSizeWasBefore) {
  internal::ThreadPool pool;
  for (int members : {1, 4, 2, 7, 3, 1, 7}) {
    for (int round = 0; round < 50; ++round) {
      std::vector<int> calls(members, 0);
      pool.run(members, &calls, [](void* context, int member, int of) {
        auto& list = *static_cast<std::vector<int>*>(context);
        if (of == static_cast<int>(list.size())) ++list[member];
      });
      ASSERT_EQ(calls, std::vector<int>(members, 1)) << members << " members, round " << round;
    }
  }
}

TEST(ThreadPool, ASecondCallerDoesItsWorkItself) {
  internal::ThreadPool pool;
  struct Context {
    internal::ThreadPool* pool;
    std::atomic<int> inner = 0;
  } context{&pool};
  pool.run(2, &context, [](void* outer, int member, int) {
    if (member != 1) return;
    // The pool is at work for another thread, so these shares must run here rather than wait for it.
    static_cast<Context*>(outer)->pool->run(3, outer, [](void* c, int, int) { ++static_cast<Context*>(c)->inner; });
  });
  EXPECT_EQ(context.inner, 3);
}

}  // namespace
}  // namespace reprise
