// Help for tests of the network ops: a tape with its memory, made-up numbers, and gradients by central differences.
// Called by tests of those ops; f64, so that differences mean something.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "autograd/tape.h"
#include "core/parallel.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"

namespace reprise::testing {

/// Numbers in [-1, 1) that look random and are the same everywhere.
inline std::vector<double> numbers(std::int64_t count, std::uint64_t seed) {
  std::vector<double> values(static_cast<std::size_t>(count));
  std::uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (double& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<double>(state >> 40) / 8388608.0 - 1.0;
  }
  return values;
}

class Bench {
 public:
  explicit Bench(DType dtype) : dtype_(dtype) {
    TapeOptions options;
    options.default_dtype = dtype;
    tape = std::make_unique<Tape>(memory, options);
  }

  Tensor tensor(const Shape& shape, const std::vector<double>& data, Category category = Category::state) {
    Tensor t = make_tensor(memory.allocator(), memory.observer(), dtype_, shape, category);
    t.assign_doubles(data);
    return t;
  }
  Tensor tensor(const Shape& shape, std::uint64_t seed) { return tensor(shape, numbers(element_count(shape), seed)); }
  LeafRef leaf(const Shape& shape, const std::vector<double>& data) {
    return Leaf::create("leaf", tensor(shape, data, Category::parameters));
  }
  LeafRef leaf(const Shape& shape, std::uint64_t seed) { return leaf(shape, numbers(element_count(shape), seed)); }
  Tensor labels(const std::vector<double>& data) {
    Tensor t = make_tensor(memory.allocator(), memory.observer(), DType::i64, {static_cast<std::int64_t>(data.size())},
                           Category::data);
    t.assign_doubles(data);
    return t;
  }

  /// The sum of y times made-up weights: a scalar whose gradient reaches every element of y differently.
  Value weigh(const Value& y) { return sum(*tape, mul(*tape, y, tensor(y.shape(), 99))); }

  Memory memory;
  std::unique_ptr<Tape> tape;

 private:
  DType dtype_;
};

/// All bytes of a tensor, to compare bit for bit.
inline std::string bytes_of(const Tensor& tensor) {
  const auto* data =
      reinterpret_cast<const char*>(tensor.storage().host_read()) + tensor.offset() * size_of(tensor.dtype());
  return std::string(data, static_cast<std::size_t>(tensor.bytes()));
}

/// Compares the gradients of all leaves with central differences of `function`, in f64. `function` records on
/// bench.tape.
inline void expect_gradients(Bench& bench, const std::vector<LeafRef>& leaves, const std::function<Value()>& function,
                             double tolerance = 1e-6) {
  Value y = function();
  Value scalar = y.shape().empty() ? y : bench.weigh(y);
  bench.tape->backward(scalar);
  auto value = [&] {
    bench.tape->clear();
    Value again = function();
    double result = again.shape().empty() ? again.item() : bench.weigh(again).item();
    return result;
  };
  constexpr double kStep = 1e-5;
  for (std::size_t l = 0; l < leaves.size(); ++l) {
    ASSERT_FALSE(leaves[l]->grad_empty) << "leaf " << l << " got no gradient";
    std::vector<double> gradient = leaves[l]->grad.to_doubles(), data = leaves[l]->data.to_doubles();
    for (std::size_t i = 0; i < data.size(); ++i) {
      std::vector<double> moved = data;
      moved[i] = data[i] + kStep;
      leaves[l]->data.assign_doubles(moved);
      double above = value();
      moved[i] = data[i] - kStep;
      leaves[l]->data.assign_doubles(moved);
      double below = value();
      leaves[l]->data.assign_doubles(data);
      double expected = (above - below) / (2 * kStep);
      ASSERT_NEAR(gradient[i], expected, tolerance * (1 + std::abs(expected))) << "leaf " << l << " element " << i;
    }
  }
}

/// The largest distance relative to the root mean square of `expected`.
inline double relative_error(const std::vector<double>& got, const std::vector<double>& expected) {
  EXPECT_EQ(got.size(), expected.size());
  double square = 0, worst = 0;
  for (double e : expected) square += e * e;
  double scale = std::sqrt(square / static_cast<double>(std::max<std::size_t>(1, expected.size())));
  for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i)
    worst = std::max(worst, std::abs(got[i] - expected[i]));
  return worst / (scale > 0 ? scale : 1);
}

/// Sets the thread count for a scope.
class Threads {
 public:
  explicit Threads(int count) : before_(thread_count()) { set_thread_count(count); }
  ~Threads() { set_thread_count(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

}  // namespace reprise::testing
