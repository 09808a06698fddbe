#include "ops/matmul.h"
#include "registry_rows.h"

namespace reprise::walk {

namespace {

using Numbers = std::vector<double>;

/// Element (r, c) of matrix `batch` of `x`, stored [rows, columns], or transposed.
double element(const Numbers& x, std::size_t batch, std::size_t rows, std::size_t columns, bool transposed,
               std::size_t r, std::size_t c) {
  return x[batch * rows * columns + (transposed ? c * rows + r : r * columns + c)];
}

Reference product(std::size_t batches, std::size_t m, std::size_t k, std::size_t n, bool ta, bool tb) {
  return [=](const CheckNumbers& in) {
    Numbers out;
    for (std::size_t b = 0; b < batches; ++b) {
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          double sum = 0;
          for (std::size_t l = 0; l < k; ++l)
            sum += element(in[0], b, m, k, ta, i, l) * element(in[1], b, k, n, tb, l, j);
          out.push_back(sum);
        }
      }
    }
    return CheckNumbers{out};
  };
}

Build multiplied(Shape a, Shape b, bool ta, bool tb) {
  return [=](CheckCase& c) -> CheckApply {
    auto x = c.leaf(a);
    auto y = c.leaf(b);
    return [=](Tape& t) { return matmul(t, x(t), y(t), ta, tb); };
  };
}

Reference layer(std::size_t rows, std::size_t inputs, std::size_t outputs, bool bias) {
  return [=](const CheckNumbers& in) {
    Numbers out;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t o = 0; o < outputs; ++o) {
        double sum = bias ? in[2][o] : 0;
        for (std::size_t i = 0; i < inputs; ++i) sum += in[0][r * inputs + i] * in[1][o * inputs + i];
        out.push_back(sum);
      }
    }
    return CheckNumbers{out};
  };
}

Build linear_of(Shape x_shape, std::int64_t outputs, bool bias) {
  return [=](CheckCase& c) -> CheckApply {
    auto x = c.leaf(x_shape);
    auto weight = c.leaf({outputs, x_shape.back()});
    if (!bias) return [=](Tape& t) { return linear(t, x(t), weight(t)); };
    auto b = c.leaf({outputs});
    return [=](Tape& t) { return linear(t, x(t), weight(t), b(t)); };
  };
}

/// The optimised kernels add up in another order than f64, over k products.
CheckRow& loosened(CheckRow& made) {
  made.f32_absolute = 1e-5;
  return made;
}

}  // namespace

std::vector<CheckRow> matmul_rows() {
  std::vector<CheckRow> rows;
  for (int way = 0; way < 4; ++way) {
    bool ta = way & 1, tb = way & 2;
    std::string label = std::string(ta ? "a transposed" : "a") + (tb ? ", b transposed" : ", b");
    rows.push_back(row("matmul", label,
                       multiplied(ta ? Shape{4, 3} : Shape{3, 4}, tb ? Shape{5, 4} : Shape{4, 5}, ta, tb),
                       product(1, 3, 4, 5, ta, tb)));
    rows.push_back(row("matmul", label + ", batched",
                       multiplied(ta ? Shape{2, 4, 3} : Shape{2, 3, 4}, tb ? Shape{2, 5, 4} : Shape{2, 4, 5}, ta, tb),
                       product(2, 3, 4, 5, ta, tb)));
  }
  rows.push_back(row("matmul", "one row times one column", multiplied({1, 7}, {7, 1}, false, false),
                     product(1, 1, 7, 1, false, false)));
  rows.push_back(row("matmul", "beyond one tile", multiplied({37, 65}, {65, 33}, false, false),
                     product(1, 37, 65, 33, false, false)));
  loosened(rows.back());
  rows.push_back(timed("matmul", multiplied({128, 256}, {256, 128}, false, false)));
  rows.push_back(row("linear", "with bias", linear_of({4, 3}, 5, true), layer(4, 3, 5, true)));
  rows.push_back(row("linear", "without bias", linear_of({4, 3}, 5, false), layer(4, 3, 5, false)));
  rows.push_back(row("linear", "a batch of sequences", linear_of({2, 3, 4}, 6, true), layer(6, 4, 6, true)));
  rows.push_back(row("linear", "one output", linear_of({3, 4}, 1, true), layer(3, 4, 1, true)));
  rows.push_back(timed("linear", linear_of({128, 256}, 128, true)));
  return rows;
}

}  // namespace reprise::walk
