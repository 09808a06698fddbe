// Guard mode looks on in a replay too: at results that it is given to read, and at storages that the op does not name.
#include <gtest/gtest.h>

#include "autograd/segment.h"
#include "ops/arithmetic.h"
#include "ops/registry.h"
#include "recompute/methods.h"
#include "recompute/replay.h"
#include "tests/autograd/lying_ops.h"
#include "tests/support/errors.h"

namespace reprise {
namespace {

using lying::hidden;
using testing::expect_error;

/// y = 2 x, by a factor that it makes and keeps; what `hidden.calls` chooses goes wrong in a replay.
const Op kKeepsItsFactor = [] {
  Op op = lying::op_named("keeps_its_factor");
  op.made = {"factor"};
  op.keeps = {"factor"};
  op.saves = {{"x", {made("factor")}}};
  op.replays_from_keeps = true;
  op.infer = [](InferContext& c) {
    c.result(0, c.dtype(0), c.shape(0));
    c.result(1, c.dtype(0), {1});
  };
  op.forward = [](ForwardContext& c) {
    auto* factor = c.out(1).as<float>();
    if (!c.is_given(1)) *factor = 2;
    for (std::int64_t i = 0; i < c.in(0).size(); ++i) c.out(0).as<float>()[i] = c.in(0).as<float>()[i] * *factor;
    if (c.is_given(1) && hidden.calls == 1) *factor = 3;
    if (c.replay && hidden.calls == 2) hidden.data[1] = 7;
  };
  return op;
}();

class GuardReplayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    register_builtin_ops();
    hidden = {};
    policy_ = make_policy(Method::region, 1);
    tape_.set_policy(policy_.get());
    tape_.set_replayer(&replayer_);
    x_ = Leaf::create("x", tensor({1, 2, 3, 4}));
    queue_ = tensor({10, 20, 30, 40});
    queue_.storage().set_name("queue");
    tape_.watch(queue_.storage_ref());
    hidden.data = queue_.view().as<float>();
  }
  Tensor tensor(const std::vector<double>& values) {
    Tensor made = make_tensor(memory_.allocator(), memory_.observer(), DType::f32,
                              {static_cast<std::int64_t>(values.size())}, Category::state);
    made.assign_doubles(values);
    return made;
  }
  /// (2 x)^2, in a segment that is replayed.
  Value square() {
    return segment(tape_, "square", [&] {
      Value twice = tape_.apply_one(kKeepsItsFactor, {x_});
      return mul(tape_, twice, twice);
    });
  }

  Memory memory_;
  TraceReplayer replayer_;
  std::unique_ptr<SegmentPolicy> policy_;
  Tape tape_{memory_, {.guard = true}};
  LeafRef x_;
  Tensor queue_;
};

TEST_F(GuardReplayTest, AnHonestReplayReadsWhatItIsGiven) {
  tape_.backward(square());
  EXPECT_EQ(x_->grad.to_doubles(), (std::vector<double>{8, 16, 24, 32}));
  EXPECT_EQ(replayer_.replays(), std::vector<int>{1});
}

TEST_F(GuardReplayTest, AResultThatIsGivenIsNotToBeWritten) {
  Value y = square();
  hidden.calls = 1;
  expect_error(ErrorKind::internal,
               {"[keeps_its_factor] writes bytes [0, 4) of result factor", "given to read", "segment 0 (square)"},
               [&] { tape_.backward(y); });
  hidden.calls = 0;
  tape_.backward(y);  // what was written has been put back
  EXPECT_EQ(x_->grad.to_doubles(), (std::vector<double>{8, 16, 24, 32}));
}

TEST_F(GuardReplayTest, AWriteThatOnlyAReplayMakesNamesTheStorage) {
  Value y = square();
  hidden.calls = 2;
  expect_error(ErrorKind::internal, {"[keeps_its_factor] writes bytes [4, 8) of storage 'queue'", "segment 0 (square)"},
               [&] { tape_.backward(y); });
  EXPECT_EQ(queue_.to_doubles(), (std::vector<double>{10, 20, 30, 40}));
  hidden.calls = 0;
  tape_.backward(y);
  EXPECT_EQ(x_->grad.to_doubles(), (std::vector<double>{8, 16, 24, 32}));
}

}  // namespace
}  // namespace reprise
