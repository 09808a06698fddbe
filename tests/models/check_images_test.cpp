// The equivalence check on real images: dense queue with both layouts, one and two losses, accumulation and dropout,
// and the classifier. Three steps as a rule, twenty in a full run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "models/check/check.h"
#include "tests/support/surroundings.h"

namespace reprise {
namespace {

std::string images() {
  std::error_code error;
  std::filesystem::path folder = testing::shared_folder() / "cifar100";
  return std::filesystem::exists(folder / "train.bin.xz", error) ? folder.string() : "";
}

bool full() { return std::getenv("REPRISE_FULL") != nullptr; }

void expect_equal(std::vector<std::string> keys) {
  std::string path = images();
  if (path.empty()) GTEST_SKIP() << "needs the CIFAR-100 set beside the checkout (shared/cifar100)";
  if (std::getenv("REPRISE_RANDOM_SCALE"))
    GTEST_SKIP() << "too slow under sanitizers; Check.* cover the same on tiny models";
  keys.insert(keys.end(),
              {"data.path=" + path, "model.encoder.preset=small", full() ? "train.batch=16" : "train.batch=8",
               "train.warmup_steps=0", "model.dropout=0.1", "recompute.segments=blocks"});
  EquivalenceOptions options;
  options.steps = full() ? 20 : 3;
  options.guarded_step = options.finite_differences = full();
  for (const EquivalenceRow& row : check_model(load_config("", keys), options).rows) {
    EXPECT_TRUE(row.good) << row.what << ": " << row.difference;
  }
}

TEST(CheckOnImages, RingWithOneLoss) { expect_equal({"model.queue.size=256", "model.queue.layout=ring"}); }

TEST(CheckOnImages, ShiftWithTwoLossesAndAccumulation) {
  expect_equal({"model.queue.size=256", "model.queue.layout=shift", "model.losses=2", "train.accumulate=2"});
}

TEST(CheckOnImages, Classifier) { expect_equal({"model.type=classifier"}); }

TEST(CheckOnImages, RingWithTwoLossesAndAccumulation) {
  if (!full()) GTEST_SKIP() << "in a full run only";
  expect_equal({"model.queue.size=256", "model.queue.layout=ring", "model.losses=2", "train.accumulate=2"});
}

TEST(CheckOnImages, ShiftWithOneLoss) {
  if (!full()) GTEST_SKIP() << "in a full run only";
  expect_equal({"model.queue.size=256", "model.queue.layout=shift"});
}

}  // namespace
}  // namespace reprise
