#include "autograd/op.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "lying_ops.h"

namespace reprise {
namespace {

TEST(OpInfo, ThreadsThatUseAnOpFirstAtTheSameTimeGetTheSameContract) {
  constexpr int kThreads = 4, kOps = 200;
  std::vector<Op> ops(kOps, lying::op_named("not_registered"));
  std::vector<std::vector<const OpInfo*>> seen(kThreads, std::vector<const OpInfo*>(kOps));
  std::atomic<int> waiting = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kOps; ++i) {
        ++waiting;
        while (waiting < kThreads * (i + 1)) std::this_thread::yield();  // all at once
        seen[t][i] = &info_of(ops[i]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kOps; ++i) {
    EXPECT_EQ(seen[0][i]->op, &ops[i]);
    for (int t = 1; t < kThreads; ++t) EXPECT_EQ(seen[t][i], seen[0][i]) << "op " << i;
  }
}

TEST(OpInfo, ACopyOfAnOpIsAnotherOp) {
  Op op = lying::op_named("not_registered");
  const OpInfo& info = info_of(op);
  Op copy = op;
  copy.saves = {{"x", {out("y")}}};
  EXPECT_EQ(info_of(copy).op, &copy);
  EXPECT_EQ(info_of(copy).needs_results[0], Mask{1});
  EXPECT_EQ(&info_of(op), &info);
}

}  // namespace
}  // namespace reprise
