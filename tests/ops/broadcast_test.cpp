#include "ops/broadcast.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "ops/sum_loops.h"

namespace reprise {
namespace {

struct Array {
  std::vector<double> data;
  TensorView view;
};

// `size` numbers of which `shape` and `strides` show some.
Array array(const Shape& shape, const Strides& strides, std::int64_t size, unsigned seed) {
  Array made;
  std::mt19937 engine(seed);
  for (std::int64_t i = 0; i < size; ++i) made.data.push_back(static_cast<double>(engine() % 1000) / 8 - 60);
  made.view = {reinterpret_cast<std::byte*>(made.data.data()), DType::f64, shape, strides};
  return made;
}
Array array(const Shape& shape, unsigned seed) {
  return array(shape, contiguous_strides(shape), std::max<std::int64_t>(1, element_count(shape)), seed);
}

// The element of `view` that broadcasting shows at row-major index `flat` of `shape`.
double at(const TensorView& view, const Shape& shape, std::int64_t flat) {
  std::int64_t offset = 0;
  for (int a = shape.size() - 1, own = view.shape.size() - 1; a >= 0; --a, --own) {
    std::int64_t index = flat % shape[a];
    flat /= shape[a];
    if (own >= 0 && view.shape[own] != 1) offset += index * view.strides[own];
  }
  return view.as<double>()[offset];
}

const auto kPolynomial = [](double a, double b) { return a * 2 - b; };

void expect_map(const TensorView& a, const TensorView& b) {
  Shape shape;
  ASSERT_TRUE(broadcast_shapes(a.shape, b.shape, &shape));
  Array out = array(shape, 9);
  map_elements<double, double, double>(kPolynomial, out.view, a, b);
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    ASSERT_EQ(out.data[i], kPolynomial(at(a, shape, i), at(b, shape, i))) << to_string(shape) << " at " << i;
  }
}

TEST(MapElements, AgreesWithPlainLoopsForAnyBroadcast) {
  const std::pair<Shape, Shape> kCases[] = {
      {{3, 4}, {3, 4}},
      {{3, 4}, {}},
      {{}, {5}},
      {{3, 4}, {4}},
      {{3, 1}, {1, 4}},
      {{2, 1, 5}, {3, 1}},
      {{1}, {1}},
      {{1, 1, 3}, {3}},
      {{0, 4}, {4}},
      {{2, 3, 1, 2}, {3, 4, 1}},
      {{40000}, {40000}},
      {{200, 300}, {300}},
      {{200, 300}, {200, 1}},
      {{2, 1, 2, 1, 2, 1}, {1, 3, 1, 3, 1, 3}},
  };
  for (const auto& [a, b] : kCases) expect_map(array(a, 1).view, array(b, 2).view);
}

TEST(MapElements, FollowsAnyStrides) {
  Array transposed = array({4, 3}, {1, 4}, 12, 3);
  Array plain = array({4, 3}, 4);
  Array every_second = array({4, 3}, {6, 2}, 24, 5);
  Array backwards = array({4, 3}, {3, -1}, 12, 6);
  backwards.view.data += 2 * sizeof(double);
  for (const Array* a : {&transposed, &plain, &every_second, &backwards}) {
    for (const Array* b : {&transposed, &plain, &every_second, &backwards}) expect_map(a->view, b->view);
  }
}

TEST(MapElements, WritesThroughStridesAndNothingBeside) {
  Array to = array({3, 2}, {8, 2}, 24, 7);
  std::vector<double> before = to.data;
  Array from = array({2}, 8);
  map_elements<double, double>([](double x) { return x + 1000; }, to.view, from.view);
  for (std::int64_t i = 0; i < 24; ++i) {
    bool shown = i % 8 == 0 || i % 8 == 2;
    EXPECT_EQ(to.data[i], shown ? from.data[i % 8 / 2] + 1000 : before[i]) << i;
  }
}

TEST(MapElements, MayTakeOverTheMemoryOfAnInput) {
  Array a = array({100, 300}, 1), b = array({300}, 2);
  std::vector<double> before = a.data;
  map_elements<double, double, double>(kPolynomial, a.view, a.view, b.view);
  for (std::size_t i = 0; i < before.size(); ++i) ASSERT_EQ(a.data[i], kPolynomial(before[i], b.data[i % 300]));
}

void expect_sum(const TensorView& a, const TensorView& b, const Shape& out_shape) {
  Shape shape;
  ASSERT_TRUE(broadcast_shapes(a.shape, b.shape, &shape));
  ASSERT_TRUE(broadcast_shapes(shape, out_shape, &shape));
  std::vector<double> want(static_cast<std::size_t>(element_count(out_shape)), 0.0);
  std::vector<double> ids(want.size());
  std::iota(ids.begin(), ids.end(), 0.0);
  TensorView id = {reinterpret_cast<std::byte*>(ids.data()), DType::f64, out_shape, contiguous_strides(out_shape)};
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    want[static_cast<std::size_t>(at(id, shape, i))] += at(a, shape, i) * at(b, shape, i);
  }
  for (int threads : {1, 2, 3}) {
    set_thread_count(threads);
    Array out = array(out_shape, 9);
    auto product = [](double x, double y) { return x * y; };
    sum_elements<double, double, double>(product, shape, out.view, 0.5, a, b);
    for (std::size_t i = 0; i < want.size(); ++i) {
      // The operands are multiples of 1/8, so that products and sums of this size are exact in any order.
      ASSERT_EQ(out.data[i], 0.5 * want[i]) << to_string(shape) << " to " << to_string(out_shape) << " at " << i;
    }
  }
  set_thread_count(2);
}

TEST(SumElements, AgreesWithPlainLoopsForAnyAxes) {
  const std::pair<Shape, Shape> kCases[] = {
      {{3, 4}, {}},
      {{3, 4}, {4}},
      {{3, 4}, {3, 1}},
      {{3, 4}, {3, 4}},
      {{3, 4}, {1, 1}},
      {{2, 3, 5}, {3, 1}},
      {{2, 3, 5}, {2, 1, 5}},
      {{300, 200}, {200}},
      {{200, 300}, {200, 1}},
      {{70000}, {}},
      {{100000, 3}, {3}},
      {{3, 100000}, {3, 1}},
      {{5000, 130}, {130}},
      {{0, 3}, {3}},
      {{3, 0}, {3, 1}},
      {{2, 3, 2, 3, 2, 3}, {3, 1, 3, 1, 3}},
      {{2, 3, 2, 3, 2, 3}, {2, 1, 2, 1, 2, 1}},
      {{4, 5000, 66}, {5000, 1}},
  };
  for (const auto& [shape, out] : kCases) {
    expect_sum(array(shape, 1).view, array(shape, 2).view, out);
    expect_sum(array(shape, 1).view, array({}, 2).view, out);
  }
}

TEST(SumElements, FollowsStridesAndBroadcastOperands) {
  Array transposed = array({70, 90}, {1, 70}, 6300, 3);
  Array row = array({90}, 4), column = array({70, 1}, 5);
  for (const Shape& out : {Shape{}, Shape{90}, Shape{70, 1}, Shape{70, 90}}) {
    expect_sum(transposed.view, row.view, out);
    expect_sum(column.view, transposed.view, out);
    expect_sum(row.view, column.view, out);
  }
}

TEST(SumElements, FloatSumsStayExactToAFewRoundings) {
  // Equal terms are the worst case: their roundings all go one way. Adding one by one in f32 would be off by 1e-2.
  std::int64_t n = 3'000'001;
  std::vector<float> x(static_cast<std::size_t>(n), 0.1f);
  TensorView view = {reinterpret_cast<std::byte*>(x.data()), DType::f32, {n}, {1}};
  float total = 0;
  TensorView out = {reinterpret_cast<std::byte*>(&total), DType::f32, {}, {}};
  auto same = [](float v) { return v; };
  sum_elements<float, float>(same, view.shape, out, 1.0, view);
  EXPECT_NEAR(total / (0.1f * static_cast<double>(n)), 1.0, 4e-6);
  std::vector<float> columns(3);
  TensorView matrix = {view.data, DType::f32, {n / 3, 3}, {3, 1}};
  TensorView to = {reinterpret_cast<std::byte*>(columns.data()), DType::f32, {3}, {1}};
  sum_elements<float, float>(same, matrix.shape, to, 1.0, matrix);
  for (float column : columns) EXPECT_NEAR(column / (0.1f * static_cast<double>(n / 3)), 1.0, 4e-6);
}

TEST(CopyElements, TransposesLargeArraysInTiles) {
  // Axes of x in another order, copied to contiguous bytes and back; extents that are no multiple of a tile.
  Shape shape{5, 67, 41};
  Array x = array(shape, 1);
  for (const Dims& order : {Dims{0, 2, 1}, Dims{2, 1, 0}, Dims{1, 2, 0}, Dims{2, 0, 1}, Dims{1, 0, 2}}) {
    TensorView seen = x.view;
    for (int a = 0; a < 3; ++a) {
      seen.shape[a] = shape[static_cast<int>(order[a])];
      seen.strides[a] = x.view.strides[static_cast<int>(order[a])];
    }
    Array moved = array(seen.shape, 2), back = array(shape, 3);
    copy_elements(moved.view, seen);
    for (std::int64_t i = 0; i < moved.view.size(); ++i) ASSERT_EQ(moved.data[i], at(seen, seen.shape, i));
    TensorView returned = seen;
    returned.data = back.view.data;
    copy_elements(returned, moved.view);
    EXPECT_EQ(back.data, x.data);
  }
}

TEST(CopyElements, MovesEveryWidthOfElement) {
  for (DType dtype : {DType::u8, DType::bf16, DType::f32, DType::i64}) {
    std::vector<std::byte> from(6 * 8), to(6 * 8);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i + 1);
    TensorView source = {from.data(), dtype, {3, 2}, {1, 3}};  // a transposed matrix of 2 x 3
    TensorView target = {to.data(), dtype, {3, 2}, {2, 1}};
    copy_elements(target, source);
    std::int64_t size = size_of(dtype);
    for (std::int64_t r = 0; r < 3; ++r) {
      for (std::int64_t c = 0; c < 2; ++c) {
        EXPECT_EQ(to[(r * 2 + c) * size], from[(c * 3 + r) * size]) << to_string(dtype);
      }
    }
  }
}

}  // namespace
}  // namespace reprise
