#include "ops/conv2d.h"

#include <gtest/gtest.h>

#include "ops/conv_geometry.h"
#include "ops/conv_portable.h"
#include "ops/implementation.h"
#include "ops/onednn.h"
#include "tests/ops/network_check.h"
#include "tests/support/errors.h"

namespace reprise {
namespace {

using testing::Bench;
using testing::bytes_of;
using testing::relative_error;
using testing::Threads;

struct Case {
  const char* name;
  Shape x, weight;
  ConvOptions options;
  bool bias;
};

std::vector<Case> small_cases() {
  return {{"plain", {2, 5, 4, 3}, {2, 3, 3, 2}, {}, true},
          {"same", {1, 4, 5, 2}, {3, 2, 3, 3}, {.padding = 1}, false},
          {"stride", {2, 6, 5, 2}, {2, 2, 3, 3}, {.stride = Pair(2, 3), .padding = Pair(1, 0)}, true},
          {"dilation", {1, 7, 6, 2}, {2, 2, 3, 2}, {.padding = 2, .dilation = Pair(2, 3)}, false},
          {"groups", {2, 4, 4, 4}, {6, 2, 3, 3}, {.padding = 1, .groups = 2}, true},
          {"pointwise", {2, 3, 3, 4}, {5, 4, 1, 1}, {.stride = 2}, false}};
}

// The definition, straight from the indices.
std::vector<double> naive_conv(const ConvGeometry& g, const std::vector<double>& x, const std::vector<double>& w,
                               const std::vector<double>& b) {
  std::vector<double> y;
  std::int64_t in = g.in / g.groups, out = g.out / g.groups;
  for (std::int64_t n = 0; n < g.n; ++n)
    for (std::int64_t oy = 0; oy < g.oh; ++oy)
      for (std::int64_t ox = 0; ox < g.ow; ++ox)
        for (std::int64_t o = 0; o < g.out; ++o) {
          double sum = b.empty() ? 0 : b[static_cast<std::size_t>(o)];
          for (std::int64_t i = 0; i < in; ++i)
            for (std::int64_t ky = 0; ky < g.kh; ++ky)
              for (std::int64_t kx = 0; kx < g.kw; ++kx) {
                std::int64_t iy = oy * g.stride.h - g.padding.h + ky * g.dilation.h,
                             ix = ox * g.stride.w - g.padding.w + kx * g.dilation.w;
                if (iy < 0 || iy >= g.h || ix < 0 || ix >= g.w) continue;
                sum += x[static_cast<std::size_t>(((n * g.h + iy) * g.w + ix) * g.in + o / out * in + i)] *
                       w[static_cast<std::size_t>(((o * in + i) * g.kh + ky) * g.kw + kx)];
              }
          y.push_back(sum);
        }
  return y;
}

Attrs attrs_of(const ConvOptions& o) {
  return Attrs()
      .add(o.stride.h)
      .add(o.stride.w)
      .add(o.padding.h)
      .add(o.padding.w)
      .add(o.dilation.h)
      .add(o.dilation.w)
      .add(o.groups);
}

struct Result {
  std::vector<double> y, dx, dw, db;
  std::string y_bits, dx_bits, dw_bits;
};

Result run(const Case& test, DType dtype, int times = 1) {
  Bench bench(dtype);
  LeafRef x = bench.leaf(test.x, 1), w = bench.leaf(test.weight, 2), b = bench.leaf({test.weight[0]}, 3);
  Value y;
  for (int i = 0; i < times; ++i) {
    y = test.bias ? conv2d(*bench.tape, x, w, b, test.options) : conv2d(*bench.tape, x, w, {}, test.options);
    bench.tape->backward(bench.weigh(y));
  }
  return {y.tensor().to_doubles(), x->grad.to_doubles(),
          w->grad.to_doubles(),    test.bias ? b->grad.to_doubles() : std::vector<double>{},
          bytes_of(y.tensor()),    bytes_of(x->grad),
          bytes_of(w->grad)};
}

TEST(Conv2d, FollowsTheDefinition) {
  for (const Case& test : small_cases()) {
    SCOPED_TRACE(test.name);
    ConvGeometry g = conv_geometry(test.x, test.weight, attrs_of(test.options), test.bias);
    auto x = testing::numbers(g.x_size(), 1), w = testing::numbers(g.weight_size(), 2), b = testing::numbers(g.out, 3);
    std::vector<double> expected = naive_conv(g, x, w, test.bias ? b : std::vector<double>{});
    EXPECT_LT(relative_error(run(test, DType::f64).y, expected), 1e-14);
    EXPECT_LT(relative_error(run(test, DType::f32).y, expected), 2e-6);
  }
}

TEST(Conv2d, GradientsAgreeWithCentralDifferences) {
  for (const Case& test : small_cases()) {
    SCOPED_TRACE(test.name);
    Bench bench(DType::f64);
    LeafRef x = bench.leaf(test.x, 1), w = bench.leaf(test.weight, 2), b = bench.leaf({test.weight[0]}, 3);
    std::vector<LeafRef> leaves{x, w};
    if (test.bias) leaves.push_back(b);
    testing::expect_gradients(bench, leaves, [&] {
      return test.bias ? conv2d(*bench.tape, x, w, b, test.options) : conv2d(*bench.tape, x, w, {}, test.options);
    });
  }
}

// Shapes that reach each kind of fast kernel, batches that do not divide into chunks or blocks among them.
std::vector<Case> fast_cases() {
  return {{"direct", {5, 8, 8, 24}, {24, 24, 3, 3}, {.padding = 1}, true},
          {"stem", {3, 9, 7, 3}, {16, 3, 3, 3}, {.padding = 1}, false},
          {"strided", {3, 8, 8, 16}, {32, 16, 3, 3}, {.stride = 2, .padding = 1}, false},
          {"pointwise", {4, 8, 8, 16}, {32, 16, 1, 1}, {.stride = 2}, true},
          {"grouped", {2, 6, 6, 32}, {32, 16, 3, 3}, {.padding = 1, .groups = 2}, false},
          {"winograd", {6, 8, 8, 64}, {64, 64, 3, 3}, {.padding = 1}, true},
          {"winograd narrow", {5, 8, 12, 16}, {16, 16, 3, 3}, {.padding = 1}, true},
          {"winograd odd", {5, 7, 9, 64}, {96, 64, 3, 3}, {.padding = 1}, false},
          {"winograd uneven", {7, 5, 6, 48}, {112, 48, 3, 3}, {.padding = 1}, true},
          {"winograd tiny", {25, 2, 1, 32}, {16, 32, 3, 3}, {.padding = 1}, false},
          {"winograd blocks", {7, 13, 17, 16}, {32, 16, 3, 3}, {.padding = 1}, false},
          {"winograd deep", {5, 6, 9, 160}, {144, 160, 3, 3}, {.padding = 1}, true},
          {"winograd chunks", {35, 24, 24, 32}, {32, 32, 3, 3}, {.padding = 1}, false},
          {"direct chunks", {35, 24, 24, 56}, {56, 56, 3, 3}, {.padding = 1}, false}};
}

TEST(Conv2d, CasesReachTheKernelThatTheyAreNamedAfter) {
  if (!onednn::uses_avx512()) GTEST_SKIP() << "Winograd needs AVX-512";
  for (const Case& test : fast_cases()) {
    ConvGeometry g = conv_geometry(test.x, test.weight, attrs_of(test.options), false);
    bool winograd = std::string(test.name).starts_with("winograd");
    for (ConvPass pass : {ConvPass::forward, ConvPass::backward_data, ConvPass::backward_weights}) {
      EXPECT_EQ(choose_conv(g, pass, DType::f32), winograd ? ConvImplementation::winograd : ConvImplementation::onednn)
          << test.name;
    }
  }
}

TEST(Conv2d, FastKernelsAgreeWithThePortableImplementation) {
  for (const Case& test : fast_cases()) {
    SCOPED_TRACE(test.name);
    Result fast = run(test, DType::f32);
    PortableOnly portable;
    Result own = run(test, DType::f32);
    // Winograd's transforms cost digits: relative to the rms, single elements may be off by some 1e-5.
    double tolerance = std::string(test.name).rfind("winograd", 0) == 0 ? 5e-5 : 1e-5;
    EXPECT_LT(relative_error(fast.y, own.y), tolerance);
    EXPECT_LT(relative_error(fast.dx, own.dx), tolerance);
    EXPECT_LT(relative_error(fast.dw, own.dw), 2 * tolerance);
    EXPECT_LT(relative_error(fast.db, own.db), 5e-6);
  }
}

TEST(Conv2d, GradientsAreAddedToWhatIsThere) {
  for (const Case& test : fast_cases()) {
    if (test.x[0] > 8) continue;
    SCOPED_TRACE(test.name);
    Result once = run(test, DType::f32), twice = run(test, DType::f32, 2);
    for (double& value : once.dx) value *= 2;
    for (double& value : once.dw) value *= 2;
    EXPECT_LT(relative_error(twice.dx, once.dx), 1e-6);
    EXPECT_LT(relative_error(twice.dw, once.dw), 1e-6);
  }
}

TEST(Conv2d, InputReadByTwoConvolutionsGetsTheSum) {
  Bench bench(DType::f32);
  LeafRef x = bench.leaf({2, 6, 6, 16}, 1), w = bench.leaf({16, 16, 3, 3}, 2);
  auto through = [&](bool both) {
    x->clear_grad();
    Value h = mul(*bench.tape, x, 1.0);
    Value a = conv2d(*bench.tape, h, w, {}, {.padding = 1});
    Value y = both ? add(*bench.tape, a, conv2d(*bench.tape, h, w, {}, {.padding = 1})) : a;
    h.reset();
    bench.tape->backward(bench.weigh(y));
    return x->grad.to_doubles();
  };
  std::vector<double> one = through(false), two = through(true);
  for (double& value : one) value *= 2;
  EXPECT_LT(relative_error(two, one), 1e-6);
}

TEST(Conv2d, BitsRepeatAndDoNotDependOnThreadsButForTheLibrarysWeightGradient) {
  for (const Case& test : fast_cases()) {
    SCOPED_TRACE(test.name);
    Result one, two, again;
    {
      Threads threads(1);
      one = run(test, DType::f32);
    }
    {
      Threads threads(2);
      two = run(test, DType::f32);
      again = run(test, DType::f32);
    }
    EXPECT_EQ(one.y_bits, two.y_bits);
    EXPECT_EQ(one.dx_bits, two.dx_bits);
    EXPECT_EQ(two.dw_bits, again.dw_bits);
    ConvGeometry g = conv_geometry(test.x, test.weight, attrs_of(test.options), false);
    if (choose_conv(g, ConvPass::backward_weights, DType::f32) == ConvImplementation::winograd) {
      EXPECT_TRUE(one.dw_bits == two.dw_bits);
    }
  }
}

// The workspace is measured when the forward is recorded; with more threads since, it must not be overrun.
TEST(Conv2d, ABackwardOnMoreThreadsThanItsForwardFitsItsWorkspaceOrIsRefused) {
  for (const Case& test : fast_cases()) {
    SCOPED_TRACE(test.name);
    Result one;
    {
      Threads threads(1);
      one = run(test, DType::f32);
    }
    Bench bench(DType::f32);
    LeafRef x = bench.leaf(test.x, 1), w = bench.leaf(test.weight, 2);
    Value y, loss;
    {
      Threads threads(1);
      y = conv2d(*bench.tape, x, w, {}, test.options);
      loss = bench.weigh(y);
    }
    Threads threads(4);
    std::string refusal = testing::user_error([&] { bench.tape->backward(loss); });
    ConvGeometry g = conv_geometry(test.x, test.weight, attrs_of(test.options), false);
    if (choose_conv(g, ConvPass::backward_weights, DType::f32) == ConvImplementation::winograd) {
      EXPECT_EQ(refusal, "");
      EXPECT_TRUE(bytes_of(x->grad) == one.dx_bits && bytes_of(w->grad) == one.dw_bits);
    } else if (!refusal.empty()) {
      EXPECT_NE(refusal.find("number of threads"), std::string::npos) << refusal;
    }
  }
}

TEST(Conv2d, PortableBitsDoNotDependOnThreads) {
  PortableOnly portable;
  Case test{"portable", {7, 8, 8, 16}, {16, 16, 3, 3}, {.padding = 1}, true};
  Result one, two;
  {
    Threads threads(1);
    one = run(test, DType::f32);
  }
  {
    Threads threads(2);
    two = run(test, DType::f32);
  }
  EXPECT_EQ(one.y_bits, two.y_bits);
  EXPECT_EQ(one.dx_bits, two.dx_bits);
  EXPECT_EQ(one.dw_bits, two.dw_bits);
}

TEST(Conv2d, WinogradStaysWithinItsErrorBound) {
  if (!onednn::uses_avx512()) GTEST_SKIP() << "Winograd needs AVX-512";
  auto rms = [](const std::vector<double>& got, const std::vector<double>& expected) {
    double distance = 0, size = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      distance += (got[i] - expected[i]) * (got[i] - expected[i]), size += expected[i] * expected[i];
    return std::sqrt(distance / size);
  };
  for (std::int64_t channels : {16, 64, 128, 512}) {
    Case test{"winograd", {4, 16, 16, channels}, {channels, channels, 3, 3}, {.padding = 1}, false};
    ConvGeometry g = conv_geometry(test.x, test.weight, attrs_of(test.options), false);
    for (ConvPass pass : {ConvPass::forward, ConvPass::backward_data, ConvPass::backward_weights})
      ASSERT_EQ(choose_conv(g, pass, DType::f32), ConvImplementation::winograd) << channels;
    Result fast = run(test, DType::f32), exact = run(test, DType::f64);
    EXPECT_LT(rms(fast.y, exact.y), 3e-6) << channels;
    EXPECT_LT(rms(fast.dx, exact.dx), 3e-6) << channels;
    EXPECT_LT(rms(fast.dw, exact.dw), 3e-6) << channels;
  }
}

TEST(Conv2d, RefusesShapesThatDoNotFitAndNamesBoth) {
  Bench bench(DType::f32);
  Tensor x = bench.tensor({1, 4, 4, 3}, 1), w = bench.tensor({2, 4, 3, 3}, 2);
  testing::expect_error(ErrorKind::user, {"[1, 4, 4, 3]", "[2, 4, 3, 3]"}, [&] { conv2d(*bench.tape, x, w); });
  testing::expect_error(ErrorKind::user, {"a kernel that fits into the padded image"}, [&] {
    conv2d(*bench.tape, x, bench.tensor({2, 3, 5, 5}, 2));
  });
  testing::expect_error(ErrorKind::user, {"expected bias [2]"}, [&] {
    conv2d(*bench.tape, x, bench.tensor({2, 3, 3, 3}, 2), bench.tensor({3}, 1));
  });
  std::int64_t far = std::int64_t{1} << 62;
  testing::expect_error(ErrorKind::user, {"a kernel that fits into the padded image"}, [&] {
    conv2d(*bench.tape, x, bench.tensor({2, 3, 3, 3}, 2), {}, {.dilation = far});
  });
  testing::expect_error(ErrorKind::user, {"at most 2^48 elements"}, [&] {
    conv2d(*bench.tape, x, bench.tensor({2, 3, 3, 3}, 2), {}, {.padding = std::int64_t{1} << 40});
  });
  testing::expect_error(ErrorKind::user, {"got stride 0x0"}, [&] {
    conv2d(*bench.tape, x, bench.tensor({2, 3, 3, 3}, 2), {}, {.stride = 0});
  });
}

TEST(Implementation, TheChoiceIsExplained) {
  Attrs attrs = attrs_of({.padding = 1});
  auto narrow = why(kConv2d, {{8, 8, 8, 16}, {16, 16, 3, 3}}, DType::f32, attrs);
  ASSERT_EQ(narrow.size(), 3u);
  EXPECT_FALSE(narrow[0].refused.empty());
  auto thin = why(kConv2d, {{2, 8, 8, 8}, {8, 8, 3, 3}}, DType::f32, attrs);
  EXPECT_NE(describe(thin).find("not Winograd: it takes multiples of 16 channels"), std::string::npos);
  auto exact = why(kConv2d, {{2, 8, 8, 16}, {16, 16, 3, 3}}, DType::f64, attrs);
  EXPECT_EQ(exact[0].chosen, "im2col and Eigen");
  EXPECT_NE(describe(exact).find("it takes f32 only"), std::string::npos);
  if (onednn::uses_avx512()) {
    auto wide = why(kConv2d, {{6, 8, 8, 32}, {32, 32, 3, 3}}, DType::f32, attrs);
    EXPECT_EQ(wide[0].chosen, "Winograd");
    EXPECT_EQ(narrow[0].chosen, "Winograd");
    EXPECT_EQ(thin[0].chosen.find("Winograd"), std::string::npos) << thin[0].chosen;
    auto few = why(kConv2d, {{2, 8, 8, 32}, {32, 32, 3, 3}}, DType::f32, attrs);
    EXPECT_NE(describe(few).find("not Winograd: it pays from 24 tiles"), std::string::npos);
  }
}

}  // namespace
}  // namespace reprise
