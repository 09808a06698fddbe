#include "ops/batch_norm.h"
#include "ops/group_norm.h"
#include "ops/normalize.h"
#include "registry_rows.h"

namespace reprise::walk {

namespace {

using Numbers = std::vector<double>;

enum class After { nothing, relu, add_relu };

struct Norm {
  const char* name;
  After after;
  bool training;
};
const Norm kNorms[] = {
    {"batch_norm", After::nothing, true},           {"batch_norm_relu", After::relu, true},
    {"batch_norm_add_relu", After::add_relu, true}, {"batch_norm_eval", After::nothing, false},
    {"batch_norm_eval_relu", After::relu, false},   {"batch_norm_eval_add_relu", After::add_relu, false},
};

Build normed(const Norm& op, Shape shape, BatchNormOptions options = {}) {
  options.training = op.training;
  return [=](CheckCase& c) -> CheckApply {
    std::int64_t channels = shape.back();
    auto x = c.leaf(shape, CheckFill{-2, 2});
    auto gamma = c.leaf({channels}, CheckFill{0.5, 1.5});
    auto beta = c.leaf({channels});
    Tensor mean = c.state({channels}), var = c.state({channels}, CheckFill{0.5, 1.5});
    switch (op.after) {
      case After::nothing: return [=](Tape& t) { return batch_norm(t, x(t), gamma(t), beta(t), mean, var, options); };
      case After::relu: return [=](Tape& t) { return batch_norm_relu(t, x(t), gamma(t), beta(t), mean, var, options); };
      case After::add_relu: break;
    }
    auto residual = c.leaf(shape, CheckFill{-2, 2});
    return [=](Tape& t) { return batch_norm_add_relu(t, x(t), residual(t), gamma(t), beta(t), mean, var, options); };
  };
}

/// Operands: x, gamma, beta, running mean, running variance, (residual). Results: y, running mean, running variance.
Reference norm_reference(const Norm& op, std::size_t channels, double momentum, double eps) {
  return [=](const CheckNumbers& in) {
    std::size_t rows = in[0].size() / channels;
    Numbers y(in[0].size()), mean = in[3], var = in[4];
    for (std::size_t c = 0; c < channels; ++c) {
      double m = in[3][c], v = in[4][c];
      if (op.training) {
        m = v = 0;
        for (std::size_t r = 0; r < rows; ++r) m += in[0][r * channels + c] / static_cast<double>(rows);
        for (std::size_t r = 0; r < rows; ++r)
          v += std::pow(in[0][r * channels + c] - m, 2) / static_cast<double>(rows);
        mean[c] = (1 - momentum) * in[3][c] + momentum * m;
        var[c] = (1 - momentum) * in[4][c] + momentum * v * static_cast<double>(rows) / static_cast<double>(rows - 1);
      }
      for (std::size_t r = 0; r < rows; ++r) {
        std::size_t at = r * channels + c;
        double value = (in[0][at] - m) / std::sqrt(v + eps) * in[1][c] + in[2][c];
        if (op.after == After::add_relu) value += in[5][at];
        y[at] = op.after == After::nothing ? value : std::max(value, 0.0);
      }
    }
    return CheckNumbers{y, mean, var};
  };
}

void batch_norm_rows(std::vector<CheckRow>& rows) {
  for (const Norm& op : kNorms) {
    auto add = [&](std::string label, Shape shape, BatchNormOptions options) {
      rows.push_back(row(op.name, std::move(label), normed(op, shape, options),
                         norm_reference(op, static_cast<std::size_t>(shape.back()), options.momentum, options.eps)));
      rows.back().f32_absolute = 1e-5;
      rows.back().gradient_absolute = 1e-7;
    };
    add("images", {2, 3, 2, 4}, {});
    add("a matrix", {6, 3}, {});
    add("one channel, another momentum", {7, 1}, {.momentum = 0.5, .eps = 1e-3});
    rows.push_back(timed(op.name, normed(op, {8, 16, 16, 32})));
  }
}

Build layered(Shape shape) {
  return [=](CheckCase& c) -> CheckApply {
    auto x = c.leaf(shape, CheckFill{-2, 2});
    auto gamma = c.leaf({shape.back()}, CheckFill{0.5, 1.5});
    auto beta = c.leaf({shape.back()});
    return [=](Tape& t) { return layer_norm(t, x(t), gamma(t), beta(t)); };
  };
}

Reference layer_reference(std::size_t n) {
  return [=](const CheckNumbers& in) {
    Numbers y(in[0].size());
    for (std::size_t r = 0; r < y.size() / n; ++r) {
      double m = 0, v = 0;
      for (std::size_t i = 0; i < n; ++i) m += in[0][r * n + i] / static_cast<double>(n);
      for (std::size_t i = 0; i < n; ++i) v += std::pow(in[0][r * n + i] - m, 2) / static_cast<double>(n);
      for (std::size_t i = 0; i < n; ++i)
        y[r * n + i] = (in[0][r * n + i] - m) / std::sqrt(v + 1e-5) * in[1][i] + in[2][i];
    }
    return CheckNumbers{y};
  };
}

Build grouped(Shape shape, std::int64_t groups, double eps = 1e-5) {
  return [=](CheckCase& c) -> CheckApply {
    auto x = c.leaf(shape, CheckFill{-2, 2});
    auto gamma = c.leaf({shape.back()}, CheckFill{0.5, 1.5});
    auto beta = c.leaf({shape.back()});
    return [=](Tape& t) { return group_norm(t, x(t), groups, gamma(t), beta(t), eps); };
  };
}

/// The definition: for each image and each group, over the pixels and channels of that group.
Reference group_reference(std::size_t images, std::size_t channels, std::size_t groups, double eps = 1e-5) {
  return [=](const CheckNumbers& in) {
    const Numbers& x = in[0];
    std::size_t image_size = x.size() / images, per_group = channels / groups;
    Numbers y(x.size());
    for (std::size_t n = 0; n < images; ++n) {
      for (std::size_t g = 0; g < groups; ++g) {
        std::vector<std::size_t> members;
        for (std::size_t i = n * image_size; i < (n + 1) * image_size; ++i) {
          if (i % channels / per_group == g) members.push_back(i);
        }
        double m = 0, v = 0, count = static_cast<double>(members.size());
        for (std::size_t i : members) m += x[i] / count;
        for (std::size_t i : members) v += std::pow(x[i] - m, 2) / count;
        for (std::size_t i : members)
          y[i] = (x[i] - m) / std::sqrt(v + eps) * in[1][i % channels] + in[2][i % channels];
      }
    }
    return CheckNumbers{y};
  };
}

void group_norm_rows(std::vector<CheckRow>& rows) {
  rows.push_back(row("group_norm", "images", grouped({2, 3, 2, 6}, 2), group_reference(2, 6, 2)));
  rows.push_back(row("group_norm", "one group", grouped({2, 3, 4}, 1), group_reference(2, 4, 1)));
  rows.push_back(row("group_norm", "a group for each channel, another eps", grouped({2, 5, 3}, 3, 0.01),
                     group_reference(2, 3, 3, 0.01)));
  rows.push_back(row("group_norm", "a matrix", grouped({3, 8}, 2), group_reference(3, 8, 2)));
  for (CheckRow& each : rows) {
    if (each.op == "group_norm") each.f32_absolute = 1e-5, each.gradient_absolute = 1e-7;
  }
  rows.push_back(timed("group_norm", grouped({8, 16, 16, 32}, 8)));
}

Build unit_length(Shape shape) {
  return [=](CheckCase& c) -> CheckApply {
    auto x = c.leaf(shape, CheckFill{-2, 2});
    return [=](Tape& t) { return l2_normalize(t, x(t)); };
  };
}

Reference unit_reference(std::size_t n) {
  return [=](const CheckNumbers& in) {
    Numbers y = in[0];
    for (std::size_t r = 0; r < y.size() / n; ++r) {
      double square = 0;
      for (std::size_t i = 0; i < n; ++i) square += y[r * n + i] * y[r * n + i];
      for (std::size_t i = 0; i < n; ++i) y[r * n + i] /= std::sqrt(square);
    }
    return CheckNumbers{y};
  };
}

}  // namespace

std::vector<CheckRow> normalize_rows() {
  std::vector<CheckRow> rows;
  batch_norm_rows(rows);
  rows.push_back(row("layer_norm", "a matrix", layered({3, 5}), layer_reference(5)));
  rows.push_back(row("layer_norm", "sequences", layered({2, 3, 4}), layer_reference(4)));
  rows.push_back(timed("layer_norm", layered({700, 100})));
  group_norm_rows(rows);
  rows.push_back(row("l2_normalize", "a matrix", unit_length({3, 5}), unit_reference(5)));
  rows.push_back(row("l2_normalize", "a vector", unit_length({7}), unit_reference(7)));
  rows.push_back(row(
      "l2_normalize", "a zero row",
      [](CheckCase& c) -> CheckApply {
        auto x = c.input({2, 2}, {0, 0, 3, 4});
        return [=](Tape& t) { return l2_normalize(t, x(t)); };
      },
      [](const CheckNumbers&) {
        return CheckNumbers{{0, 0, 0.6, 0.8}};
      }));
  rows.push_back(timed("l2_normalize", unit_length({700, 100})));
  return rows;
}

}  // namespace reprise::walk
