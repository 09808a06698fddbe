#include "ops/loss.h"
#include "registry_rows.h"

namespace reprise::walk {

namespace {

using Numbers = std::vector<double>;

double logsumexp_of(const double* x, std::size_t n) {
  double top = x[0], sum = 0;
  for (std::size_t i = 1; i < n; ++i) top = std::max(top, x[i]);
  for (std::size_t i = 0; i < n; ++i) sum += std::exp(x[i] - top);
  return top + std::log(sum);
}

Build cross_entropy(std::int64_t n, std::int64_t classes) {
  return [=](CheckCase& c) -> CheckApply {
    auto logits = c.leaf({n, classes}, CheckFill{-3, 3});
    Numbers labels(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < labels.size(); ++i)
      labels[i] = static_cast<double>(i * 5 % static_cast<std::size_t>(classes));
    auto target = c.integers({n}, labels);
    return [=](Tape& t) { return softmax_cross_entropy(t, logits(t), target(t)); };
  };
}

Reference cross_entropy_reference(std::size_t classes) {
  return [=](const CheckNumbers& in) {
    double loss = 0;
    for (std::size_t r = 0; r < in[1].size(); ++r) {
      const double* row = in[0].data() + r * classes;
      loss +=
          (logsumexp_of(row, classes) - row[static_cast<std::size_t>(in[1][r])]) / static_cast<double>(in[1].size());
    }
    return CheckNumbers{{loss}};
  };
}

Build contrastive(std::int64_t n, std::int64_t d, std::int64_t queued) {
  return [=](CheckCase& c) -> CheckApply {
    auto query = c.leaf({n, d});
    auto key = c.leaf({n, d});
    Tensor queue = c.state({queued, d});
    return [=](Tape& t) { return info_nce(t, query(t), key(t), queue, 0.5); };
  };
}

Reference contrastive_reference(std::size_t d) {
  return [=](const CheckNumbers& in) {
    std::size_t n = in[0].size() / d, queued = in[2].size() / d;
    double loss = 0;
    for (std::size_t r = 0; r < n; ++r) {
      Numbers logits(queued + 1, 0.0);
      for (std::size_t i = 0; i < d; ++i) {
        logits[0] += in[0][r * d + i] * in[1][r * d + i] / 0.5;
        for (std::size_t j = 0; j < queued; ++j) logits[j + 1] += in[0][r * d + i] * in[2][j * d + i] / 0.5;
      }
      loss += (logsumexp_of(logits.data(), logits.size()) - logits[0]) / static_cast<double>(n);
    }
    return CheckNumbers{{loss}};
  };
}

Build squared(Shape shape) {
  return [=](CheckCase& c) -> CheckApply {
    auto prediction = c.leaf(shape);
    auto target = c.leaf(shape);
    return [=](Tape& t) { return mse(t, prediction(t), target(t)); };
  };
}

}  // namespace

std::vector<CheckRow> loss_rows() {
  std::vector<CheckRow> rows;
  rows.push_back(row("softmax_cross_entropy", "a batch", cross_entropy(4, 6), cross_entropy_reference(6)));
  rows.push_back(row("softmax_cross_entropy", "one class", cross_entropy(3, 1), cross_entropy_reference(1)));
  rows.push_back(row(
      "softmax_cross_entropy", "logits whose exponential overflows",
      [](CheckCase& c) -> CheckApply {
        auto logits = c.leaf({1, 3}, {1000, 998, -1000});
        auto labels = c.integers({1}, {1});
        return [=](Tape& t) { return softmax_cross_entropy(t, logits(t), labels(t)); };
      },
      cross_entropy_reference(3)));
  rows.back().gradient_relative = 1e-5;
  rows.push_back(timed("softmax_cross_entropy", cross_entropy(700, 100)));
  rows.push_back(row("info_nce", "a queue", contrastive(3, 4, 5), contrastive_reference(4)));
  rows.push_back(row("info_nce", "a queue of one", contrastive(2, 3, 1), contrastive_reference(3)));
  rows.push_back(timed("info_nce", contrastive(64, 64, 512)));
  rows.push_back(row("mse", "a matrix", squared({3, 4}), [](const CheckNumbers& in) {
    double sum = 0;
    for (std::size_t i = 0; i < in[0].size(); ++i) sum += std::pow(in[0][i] - in[1][i], 2);
    return CheckNumbers{{sum / static_cast<double>(in[0].size())}};
  }));
  rows.push_back(row("mse", "a scalar", squared({})));
  rows.push_back(timed("mse", squared({70000})));
  return rows;
}

}  // namespace reprise::walk
