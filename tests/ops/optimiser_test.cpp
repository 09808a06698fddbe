#include "ops/optimiser.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/ops/network_check.h"
#include "tests/support/errors.h"

namespace reprise {
namespace {

using testing::Bench;
using testing::bytes_of;
using testing::Threads;

// Three parameters, the second of them without decay; sizes that make several blocks.
struct Slots {
  explicit Slots(DType dtype, bool average = false) : bench(dtype) {
    std::uint64_t seed = 1;
    for (const Shape& shape : {Shape{3, 5}, Shape{7}, Shape{40000}}) {
      OptimiserSlot slot;
      slot.parameter = bench.leaf(shape, seed);
      slot.parameter->grad = bench.tensor(shape, seed + 10);
      slot.parameter->grad_empty = false;
      slot.momentum = bench.tensor(shape, std::vector<double>(static_cast<std::size_t>(element_count(shape)), 0.0));
      slot.second = bench.tensor(shape, std::vector<double>(static_cast<std::size_t>(element_count(shape)), 0.0));
      if (average) slot.average = bench.tensor(shape, seed + 20);
      slot.decay = shape.size() != 1 || shape[0] != 7;
      slots.push_back(slot);
      ++seed;
    }
  }
  std::string bits() const {
    std::string all;
    for (const OptimiserSlot& slot : slots)
      all += bytes_of(slot.parameter->data) + bytes_of(slot.momentum) + bytes_of(slot.second);
    return all;
  }
  Bench bench;
  std::vector<OptimiserSlot> slots;
};

TEST(Sgd, FollowsThePublishedRule) {
  for (bool nesterov : {false, true}) {
    Slots s(DType::f64);
    SgdOptions o{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = nesterov, .gradient_scale = 0.5};
    for (OptimiserSlot& slot : s.slots) {
      std::vector<double> p = slot.parameter->data.to_doubles(), g = slot.parameter->grad.to_doubles(),
                          v(p.size(), 0.0);
      for (int step = 0; step < 3; ++step) {
        for (std::size_t i = 0; i < p.size(); ++i) {
          double d = 0.5 * g[i] + (slot.decay ? 0.01 : 0.0) * p[i];
          v[i] = step == 0 ? d : 0.9 * v[i] + d;  // the first velocity is the gradient itself
          p[i] -= 0.1 * (nesterov ? d + 0.9 * v[i] : v[i]);
        }
        sgd_step(std::span(&slot, 1), o);
      }
      EXPECT_LT(testing::relative_error(slot.parameter->data.to_doubles(), p), 1e-14);
      EXPECT_LT(testing::relative_error(slot.momentum.to_doubles(), v), 1e-14);
    }
  }
}

TEST(Adamw, FollowsThePublishedRule) {
  Slots s(DType::f64);
  std::vector<std::vector<double>> p, m, q;
  for (const OptimiserSlot& slot : s.slots) {
    p.push_back(slot.parameter->data.to_doubles());
    m.emplace_back(p.back().size(), 0.0);
    q.emplace_back(p.back().size(), 0.0);
  }
  for (int step = 1; step <= 3; ++step) {
    adamw_step(s.slots, {.lr = 0.01, .weight_decay = 0.1, .step = step});
    for (std::size_t k = 0; k < p.size(); ++k) {
      std::vector<double> g = s.slots[k].parameter->grad.to_doubles();
      for (std::size_t i = 0; i < g.size(); ++i) {
        if (s.slots[k].decay) p[k][i] *= 1 - 0.01 * 0.1;
        m[k][i] = 0.9 * m[k][i] + 0.1 * g[i];
        q[k][i] = 0.999 * q[k][i] + 0.001 * g[i] * g[i];
        double first = m[k][i] / (1 - std::pow(0.9, step)), second = q[k][i] / (1 - std::pow(0.999, step));
        p[k][i] -= 0.01 * first / (std::sqrt(second) + 1e-8);
      }
    }
  }
  for (std::size_t k = 0; k < p.size(); ++k)
    EXPECT_LT(testing::relative_error(s.slots[k].parameter->data.to_doubles(), p[k]), 1e-12);
}

TEST(Lars, FollowsThePlainFormula) {
  Slots s(DType::f64);
  LarsOptions o{.lr = 0.3, .momentum = 0.9, .weight_decay = 0.01, .trust = 0.02, .gradient_scale = 0.5};
  for (OptimiserSlot& slot : s.slots) {
    std::vector<double> p = slot.parameter->data.to_doubles(), g = slot.parameter->grad.to_doubles(), v(p.size(), 0.0);
    for (int step = 0; step < 3; ++step) {
      double length = 0, update = 0, ratio = 1;
      std::vector<double> d(p.size());
      for (std::size_t i = 0; i < p.size(); ++i) {
        d[i] = 0.5 * g[i] + (slot.decay ? 0.01 : 0.0) * p[i];
        length += p[i] * p[i], update += d[i] * d[i];
      }
      if (slot.decay) ratio = 0.02 * std::sqrt(length) / std::sqrt(update);
      for (std::size_t i = 0; i < p.size(); ++i) {
        v[i] = 0.9 * v[i] + ratio * d[i];
        p[i] -= 0.3 * v[i];
      }
      lars_step(std::span(&slot, 1), o);
    }
    EXPECT_LT(testing::relative_error(slot.parameter->data.to_doubles(), p), 1e-13);
    EXPECT_LT(testing::relative_error(slot.momentum.to_doubles(), v), 1e-13);
  }
}

TEST(Lars, AParameterOrUpdateOfZerosTakesAPlainStep) {
  Bench bench(DType::f64);
  OptimiserSlot slot;
  slot.parameter = bench.leaf({2, 2}, std::vector<double>(4, 0.0));
  slot.parameter->grad = bench.tensor({2, 2}, {1, 2, 3, 4});
  slot.parameter->grad_empty = false;
  slot.momentum = bench.tensor({2, 2}, std::vector<double>(4, 0.0));
  lars_step(std::span(&slot, 1), {.lr = 0.5});
  EXPECT_EQ(slot.parameter->data.to_doubles(), (std::vector<double>{-0.5, -1, -1.5, -2}));
  slot.parameter->grad = bench.tensor({2, 2}, std::vector<double>(4, 0.0));
  lars_step(std::span(&slot, 1), {.lr = 0.5, .momentum = 0});
  EXPECT_EQ(slot.parameter->data.to_doubles(), (std::vector<double>{-0.5, -1, -1.5, -2}));
}

TEST(Optimiser, AverageMovesTowardsTheNewParameterInTheSamePass) {
  Slots fused(DType::f32, true), apart(DType::f32, true);
  SgdOptions o{.lr = 0.1, .momentum = 0.9, .average_keep = 0.99};
  sgd_step(fused.slots, o);
  std::vector<EmaSlot> averages;
  for (OptimiserSlot& slot : apart.slots) {
    averages.push_back({slot.average, slot.parameter->data});
    slot.average = Tensor();
  }
  sgd_step(apart.slots, o);
  ema_step(averages, 0.99);
  for (std::size_t i = 0; i < averages.size(); ++i)
    EXPECT_EQ(bytes_of(fused.slots[i].average), bytes_of(averages[i].average));
}

TEST(Optimiser, BitsDoNotDependOnThreadsNorOnNeighboursInASlab) {
  auto bits = [](int threads) {
    Threads scope(threads);
    Slots s(DType::f32);
    sgd_step(s.slots, {.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-3});
    adamw_step(s.slots, {});
    lars_step(s.slots, {.weight_decay = 1e-3});
    return s.bits();
  };
  std::string together = bits(1);
  EXPECT_EQ(together, bits(2));
  // The same numbers, one slot after another: nothing can be merged.
  Slots s(DType::f32);
  for (OptimiserSlot& slot : s.slots) sgd_step(std::span(&slot, 1), {.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-3});
  for (OptimiserSlot& slot : s.slots) adamw_step(std::span(&slot, 1), {});
  for (OptimiserSlot& slot : s.slots) lars_step(std::span(&slot, 1), {.weight_decay = 1e-3});
  EXPECT_EQ(together, s.bits());
}

TEST(Optimiser, NeighboursInOneStorageAreUpdatedOnceEach) {
  Bench bench(DType::f64);
  Tensor data = bench.tensor({96}, 1), gradient = bench.tensor({96}, 2),
         velocity = bench.tensor({96}, std::vector<double>(96, 0.0));
  std::vector<double> expected = data.to_doubles();
  std::vector<double> g = gradient.to_doubles();
  for (std::size_t i = 0; i < 96; ++i) expected[i] -= 0.5 * g[i];
  std::vector<OptimiserSlot> slots;
  for (std::int64_t i = 0; i < 3; ++i) {
    auto part = [&](const Tensor& whole) { return whole.with_view({32}, {1}, i * 32); };
    OptimiserSlot slot;
    slot.parameter = Leaf::create("part", part(data), part(gradient));
    slot.parameter->grad_empty = false;
    slot.momentum = part(velocity);
    slots.push_back(slot);
  }
  sgd_step(slots, {.lr = 0.5, .momentum = 0.9});
  EXPECT_EQ(data.to_doubles(), expected);
}

TEST(Optimiser, AnnouncesItsWritesSoThatAnOpenBackwardSeesTheOldParameter) {
  Bench bench(DType::f64);
  LeafRef w = bench.leaf({2}, {2.0, 3.0});
  Value y = mul(*bench.tape, w, w);
  w->grad = bench.tensor({2}, std::vector<double>{1.0, 1.0});
  w->grad_empty = false;
  OptimiserSlot slot;
  slot.parameter = w;
  sgd_step(std::span(&slot, 1), {.lr = 1.0});
  EXPECT_EQ(w->data.to_doubles(), (std::vector<double>{1.0, 2.0}));
  w->clear_grad();
  bench.tape->backward(y);
  EXPECT_EQ(w->grad.to_doubles(), (std::vector<double>{4.0, 6.0}));
}

TEST(Optimiser, ASlotWithoutAParameterIsRefusedBeforeAnyIsStepped) {
  Slots s(DType::f32);
  std::string first = bytes_of(s.slots[0].parameter->data);
  s.slots[1].parameter = nullptr;
  auto refuses = [](const char* who, const std::function<void()>& call) {
    testing::expect_error(ErrorKind::user, {who, "got a null one"}, call);
  };
  refuses("[sgd]", [&] { sgd_step(s.slots, {.lr = 0.1}); });
  refuses("[adamw]", [&] { adamw_step(s.slots, {}); });
  refuses("[lars]", [&] { lars_step(s.slots, {}); });
  refuses("[gradient_norm]", [&] { gradient_norm(s.slots); });
  EXPECT_EQ(bytes_of(s.slots[0].parameter->data), first);
}

TEST(Optimiser, EmptyGradientsAreSkippedAndMissingStateIsNamed) {
  Slots s(DType::f32);
  s.slots[0].parameter->clear_grad();
  std::string before = bytes_of(s.slots[0].parameter->data);
  sgd_step(s.slots, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1});
  EXPECT_EQ(bytes_of(s.slots[0].parameter->data), before);
  s.slots[1].momentum = Tensor();
  std::string third = bytes_of(s.slots[2].parameter->data);
  testing::expect_error(ErrorKind::user, {"expected a contiguous momentum"},
                        [&] { sgd_step(s.slots, {.lr = 0.1, .momentum = 0.9}); });
  EXPECT_EQ(bytes_of(s.slots[2].parameter->data), third);
}

// The loops of two such slots would meet in the same bytes, on two threads: a race, where PyTorch only warns.
TEST(Optimiser, TensorsThatAStepWritesLieApart) {
  Slots s(DType::f32, true);
  std::string before = s.bits();
  Threads threads(2);
  auto refuses = [&](const std::vector<OptimiserSlot>& slots, const std::string& met) {
    auto expect = [&](const std::function<void()>& step) {
      testing::expect_error(ErrorKind::user, {"expected tensors apart in every slot, got " + met}, step);
    };
    expect([&] { sgd_step(slots, {.momentum = 0.9}); });
    expect([&] { adamw_step(slots, {}); });
    expect([&] { lars_step(slots, {}); });
    EXPECT_EQ(s.bits(), before);
  };
  std::vector<OptimiserSlot> slots = s.slots;
  slots.push_back(slots[0]);
  refuses(slots, "parameter of 'leaf' and parameter of 'leaf' in the same bytes");
  slots = s.slots;
  slots[1].average = slots[1].momentum;
  refuses(slots, "momentum of 'leaf' and average of 'leaf'");
  slots = s.slots;
  slots[2].momentum = slots[2].parameter->grad;
  refuses(slots, "gradient of 'leaf' and momentum of 'leaf'");

  // Neighbours in one storage are apart, halves that overlap are not.
  Tensor whole = s.bench.tensor(Shape{12}, 5);
  Tensor source = s.bench.tensor(Shape{6}, 6);
  auto part = [&](std::int64_t offset) { return whole.with_view(Shape{6}, Strides{1}, offset); };
  std::vector<EmaSlot> averages{{part(6), source}, {part(0), source}};
  ema_step(averages, 0.9);
  averages[1].average = part(5);
  testing::expect_error(ErrorKind::user, {"[ema]", "average of", "same bytes"}, [&] { ema_step(averages, 0.9); });
  averages = {{part(0), part(3)}};
  testing::expect_error(ErrorKind::user, {"[ema]", "source of", "same bytes"}, [&] { ema_step(averages, 0.9); });
}

TEST(Optimiser, GradientNormIsThatOfAllGradientsAndClipsLikePyTorch) {
  Slots s(DType::f64);
  double square = 0;
  for (const OptimiserSlot& slot : s.slots) {
    for (double g : slot.parameter->grad.to_doubles()) square += g * g;
  }
  EXPECT_NEAR(gradient_norm(s.slots), std::sqrt(square), 1e-10);
  EXPECT_DOUBLE_EQ(clip_scale(0.5, 1.0), 1.0);
  EXPECT_DOUBLE_EQ(clip_scale(4.0, 1.0), 1.0 / (4.0 + 1e-6));
}

}  // namespace
}  // namespace reprise
