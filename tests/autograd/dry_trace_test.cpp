// A dry trace runs shape rules and lifetimes without data. Its meter must tell the bytes of the real run.
#include <gtest/gtest.h>

#include "autograd/segment.h"
#include "ops/arithmetic.h"
#include "ops/batch_norm.h"
#include "ops/conv2d.h"
#include "ops/draws.h"
#include "ops/loss.h"
#include "ops/matmul.h"
#include "ops/pool.h"
#include "ops/queue.h"
#include "ops/reduce.h"
#include "ops/registry.h"
#include "ops/row_state.h"
#include "ops/rows.h"
#include "ops/shape_ops.h"
#include "ops/unary.h"
#include "recompute/methods.h"
#include "recompute/replay.h"

namespace reprise {
namespace {

MeterSnapshot step(bool dry, Method method) {
  register_builtin_ops();
  MemoryOptions options;
  options.dry = dry;
  Memory memory(options);
  auto make = [&](Category category, DType dtype, const Shape& shape) {
    return make_tensor(memory.allocator(), memory.observer(), dtype, shape, category, true);
  };
  auto leaf = [&](const char* name, const Shape& shape) {
    return Leaf::create(name, make(Category::parameters, DType::f32, shape),
                        make(Category::gradients, DType::f32, shape));
  };
  LeafRef w1 = leaf("w1", {8, 3, 3, 3}), w2 = leaf("w2", {8, 8, 3, 3}), gamma = leaf("gamma", {8}),
          beta = leaf("beta", {8});
  LeafRef head = leaf("head", {16, 8});
  Tensor mean_ = make(Category::state, DType::f32, {8}), var = make(Category::state, DType::f32, {8});
  Tensor queue = make(Category::state, DType::f32, {64, 16});
  Tensor x = make(Category::data, DType::f32, {4, 16, 16, 3});
  auto policy = make_policy(method);
  TraceReplayer replayer;
  Stream stream{"dropout", 1, 0, 0};
  {
    Tape t(memory);
    t.set_policy(policy.get());
    t.set_replayer(&replayer);
    Value h = segment(
        t, "stem", [&] { return batch_norm_relu(t, conv2d(t, x, w1, {}, {.padding = 1}), gamma, beta, mean_, var); });
    h = segment(t, "block", [&] {
      Value y = batch_norm_relu(t, conv2d(t, h, w2, {}, {.padding = 1}), gamma, beta, mean_, var);
      return batch_norm_add_relu(t, conv2d(t, y, w2, {}, {.padding = 1}), h, gamma, beta, mean_, var);
    });
    Value loss = segment(t, "head", [&] {
      Value q = dropout(t, stream, linear(t, global_avg_pool(t, h), head), 0.1);
      Value shifted = add(t, reshape(t, transpose(t, q), {4, 16}), q);
      Value l = info_nce(t, shifted, stop_gradient(t, q), queue, 0.2);
      enqueue_ring(t, queue, stop_gradient(t, q), 62);
      return l;
    });
    h.reset();
    t.backward(loss);
  }
  return memory.meter().snapshot();
}

class DryTrace : public ::testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(Methods, DryTrace, ::testing::Values(Method::retain, Method::whole, Method::region),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(DryTrace, TellsThePeakOfTheRealStepToTheByte) {
  MeterSnapshot dry = step(true, GetParam()), real = step(false, GetParam());
  EXPECT_EQ(dry.total_peak, real.total_peak);
  for (int c = 0; c < kCategoryCount; ++c) {
    EXPECT_EQ(dry.peak[c], real.peak[c]) << to_string(static_cast<Category>(c));
  }
  EXPECT_EQ(dry.events, real.events);
}

}  // namespace
}  // namespace reprise
