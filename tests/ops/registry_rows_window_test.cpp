#include <algorithm>

#include "ops/conv2d.h"
#include "ops/pool.h"
#include "registry_rows.h"

namespace reprise::walk {

namespace {

using Numbers = std::vector<double>;

std::int64_t out_extent(std::int64_t extent, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                        std::int64_t dilation) {
  return (extent + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

/// f(y, x, element offset in the image) for each tap of the window at (oy, ox) that lies in the image.
template <class F>
void for_each_tap(std::int64_t h, std::int64_t w, std::int64_t oy, std::int64_t ox, Pair window, Pair stride,
                  Pair padding, Pair dilation, F f) {
  for (std::int64_t ky = 0; ky < window.h; ++ky) {
    for (std::int64_t kx = 0; kx < window.w; ++kx) {
      std::int64_t y = oy * stride.h - padding.h + ky * dilation.h, x = ox * stride.w - padding.w + kx * dilation.w;
      if (y >= 0 && y < h && x >= 0 && x < w) f(ky, kx, y * w + x);
    }
  }
}

Reference convolved(Shape x, Shape weight, ConvOptions o, bool bias) {
  return [=](const CheckNumbers& in) {
    std::int64_t n = x[0], h = x[1], w = x[2], c = x[3], out = weight[0], per = weight[1];
    std::int64_t oh = out_extent(h, weight[2], o.stride.h, o.padding.h, o.dilation.h);
    std::int64_t ow = out_extent(w, weight[3], o.stride.w, o.padding.w, o.dilation.w);
    Numbers result;
    for (std::int64_t i = 0; i < n * oh * ow * out; ++i) {
      std::int64_t f = i % out, ox = i / out % ow, oy = i / out / ow % oh, image = i / out / ow / oh;
      std::int64_t first = f / (out / o.groups) * per;
      double sum = bias ? in[2][static_cast<std::size_t>(f)] : 0;
      for_each_tap(h, w, oy, ox, {weight[2], weight[3]}, o.stride, o.padding, o.dilation,
                   [&](std::int64_t ky, std::int64_t kx, std::int64_t at) {
                     for (std::int64_t k = 0; k < per; ++k) {
                       sum += in[0][static_cast<std::size_t>((image * h * w + at) * c + first + k)] *
                              in[1][static_cast<std::size_t>(((f * per + k) * weight[2] + ky) * weight[3] + kx)];
                     }
                   });
      result.push_back(sum);
    }
    return CheckNumbers{result};
  };
}

Build conv_of(Shape x_shape, Shape w_shape, ConvOptions options, bool bias) {
  return [=](CheckCase& c) -> CheckApply {
    auto x = c.leaf(x_shape);
    auto weight = c.leaf(w_shape);
    if (!bias) return [=](Tape& t) { return conv2d(t, x(t), weight(t), {}, options); };
    auto b = c.leaf({w_shape[0]});
    return [=](Tape& t) { return conv2d(t, x(t), weight(t), b(t), options); };
  };
}

void conv_rows(std::vector<CheckRow>& rows) {
  struct Case {
    const char* label;
    Shape x, weight;
    ConvOptions options;
    bool bias;
  };
  const Case cases[] = {
      {"3x3, padded, bias", {2, 5, 4, 3}, {4, 3, 3, 3}, {.padding = 1}, true},
      {"1x1", {2, 3, 3, 4}, {5, 4, 1, 1}, {}, false},
      {"stride 2", {1, 6, 7, 2}, {3, 2, 3, 3}, {.stride = 2, .padding = 1}, true},
      {"dilation", {1, 7, 7, 2}, {2, 2, 3, 3}, {.padding = 2, .dilation = 2}, false},
      {"groups", {2, 4, 4, 4}, {6, 2, 3, 3}, {.padding = 1, .groups = 2}, true},
      {"one group per channel", {1, 5, 5, 3}, {3, 1, 3, 3}, {.padding = 1, .groups = 3}, false},
      {"uneven window and stride", {1, 6, 5, 2}, {2, 2, 2, 3}, {.stride = {2, 1}, .padding = {0, 1}}, true},
      {"window as large as the image", {2, 3, 3, 2}, {4, 2, 3, 3}, {}, true},
  };
  for (const Case& each : cases) {
    rows.push_back(row("conv2d", each.label, conv_of(each.x, each.weight, each.options, each.bias),
                       convolved(each.x, each.weight, each.options, each.bias)));
    rows.back().f32_absolute = 1e-5;
    rows.back().any_threads = false;  // weight gradients of the optimised kernels differ between thread counts
  }
  rows.push_back(timed("conv2d", conv_of({4, 16, 16, 32}, {32, 32, 3, 3}, {.padding = 1}, false)));
  rows.back().any_threads = false;
}

struct Pool {
  const char* name;
  Value (*apply)(Tape&, Arg, const PoolOptions&);
};
const Pool kPools[] = {{"max_pool2d", max_pool2d}, {"avg_pool2d", avg_pool2d}};

Reference pooled(Shape x, PoolOptions o, bool maximum) {
  return [=](const CheckNumbers& in) {
    Pair stride = o.stride == Pair(0) ? o.window : o.stride;
    std::int64_t h = x[1], w = x[2], c = x[3];
    std::int64_t oh = out_extent(h, o.window.h, stride.h, o.padding.h, 1),
                 ow = out_extent(w, o.window.w, stride.w, o.padding.w, 1);
    Numbers result;
    for (std::int64_t i = 0; i < x[0] * oh * ow * c; ++i) {
      std::int64_t k = i % c, ox = i / c % ow, oy = i / c / ow % oh, image = i / c / ow / oh;
      double top = -HUGE_VAL, sum = 0;
      for_each_tap(h, w, oy, ox, o.window, stride, o.padding, 1, [&](std::int64_t, std::int64_t, std::int64_t at) {
        double v = in[0][static_cast<std::size_t>((image * h * w + at) * c + k)];
        top = std::max(top, v);
        sum += v;
      });
      result.push_back(maximum ? top : sum / static_cast<double>(o.window.h * o.window.w));
    }
    return CheckNumbers{result};
  };
}

void pool_rows(std::vector<CheckRow>& rows) {
  struct Case {
    const char* label;
    Shape x;
    PoolOptions options;
  };
  const Case cases[] = {
      {"2x2", {2, 4, 6, 3}, {}},
      {"3x3, stride 2, padded", {1, 5, 6, 2}, {.window = 3, .stride = 2, .padding = 1}},
      {"overlapping, uneven", {1, 5, 4, 2}, {.window = {3, 2}, .stride = 1}},
  };
  for (const Pool& op : kPools) {
    auto build = [op](Shape shape, PoolOptions options) -> Build {
      return [=](CheckCase& c) -> CheckApply {
        auto x = c.leaf(shape);
        return [=](Tape& t) { return op.apply(t, x(t), options); };
      };
    };
    for (const Case& each : cases) {
      rows.push_back(row(op.name, each.label, build(each.x, each.options),
                         pooled(each.x, each.options, std::string(op.name) == "max_pool2d")));
    }
    rows.push_back(timed(op.name, build({8, 16, 16, 32}, {})));
  }
  auto global = [](Shape shape) -> Build {
    return [=](CheckCase& c) -> CheckApply {
      auto x = c.leaf(shape);
      return [=](Tape& t) { return global_avg_pool(t, x(t)); };
    };
  };
  rows.push_back(row("global_avg_pool", "images", global({2, 3, 4, 5}), [](const CheckNumbers& in) {
    Numbers out(10, 0.0);
    for (std::size_t i = 0; i < in[0].size(); ++i) out[i / 60 * 5 + i % 5] += in[0][i] / 12;
    return CheckNumbers{out};
  }));
  rows.push_back(row("global_avg_pool", "one pixel", global({2, 1, 1, 3}), each([](double x) { return x; })));
  rows.push_back(timed("global_avg_pool", global({8, 16, 16, 32})));
}

}  // namespace

std::vector<CheckRow> window_rows() {
  std::vector<CheckRow> rows;
  conv_rows(rows);
  pool_rows(rows);
  return rows;
}

}  // namespace reprise::walk
