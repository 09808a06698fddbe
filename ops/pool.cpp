#include "ops/pool.h"

#include <algorithm>
#include <limits>

#include "core/parallel.h"
#include "ops/kernels.h"

namespace reprise {
namespace {

struct PoolGeometry {
  std::int64_t n, h, w, c, oh, ow;
  Pair window = 1, stride = 1, padding = 0;
};

PoolGeometry pool_geometry(const char* op, const Shape& x, const Attrs& attrs) {
  PoolGeometry g{};
  g.window = Pair(attrs.integer(0), attrs.integer(1));
  g.stride = Pair(attrs.integer(2), attrs.integer(3));
  g.padding = Pair(attrs.integer(4), attrs.integer(5));
  if (x.size() != 4) fail(ErrorKind::user, "[{}] expected x [n, h, w, c], got {}", op, to_string(x));
  bool sane = g.window.h > 0 && g.window.w > 0 && g.stride.h > 0 && g.stride.w > 0 && g.padding.h >= 0 &&
              g.padding.w >= 0 && g.padding.h <= g.window.h / 2 && g.padding.w <= g.window.w / 2;
  if (!sane) {
    fail(ErrorKind::user,
         "[{}] expected window and stride of at least 1 and padding of at most half the window, got window {}x{}, "
         "stride {}x{}, padding {}x{}",
         op, g.window.h, g.window.w, g.stride.h, g.stride.w, g.padding.h, g.padding.w);
  }
  g.n = x[0], g.h = x[1], g.w = x[2], g.c = x[3];
  if (g.h < 1 || g.w < 1) fail(ErrorKind::user, "[{}] expected at least one pixel, got x {}", op, to_string(x));
  g.oh = window_count(g.h, g.window.h, g.stride.h, g.padding.h, 1);
  g.ow = window_count(g.w, g.window.w, g.stride.w, g.padding.w, 1);
  if (g.oh < 1 || g.ow < 1) {
    fail(ErrorKind::user, "[{}] expected a window that fits into the padded image, got x {} and window {}x{}", op,
         to_string(x), g.window.h, g.window.w);
  }
  return g;
}

// Calls visit(output offset, input offset, position in the window) for each pair of pixels of one image that meet;
// windows in order, and positions in row order within each.
template <class Visit>
void for_each_meeting(const PoolGeometry& g, std::int64_t image, Visit&& visit) {
  for (std::int64_t oy = 0; oy < g.oh; ++oy) {
    for (std::int64_t ox = 0; ox < g.ow; ++ox) {
      std::int64_t out = ((image * g.oh + oy) * g.ow + ox) * g.c;
      for (std::int64_t ky = 0; ky < g.window.h; ++ky) {
        std::int64_t iy = oy * g.stride.h - g.padding.h + ky;
        if (iy < 0 || iy >= g.h) continue;
        for (std::int64_t kx = 0; kx < g.window.w; ++kx) {
          std::int64_t ix = ox * g.stride.w - g.padding.w + kx;
          if (ix < 0 || ix >= g.w) continue;
          visit(out, ((image * g.h + iy) * g.w + ix) * g.c, ky * g.window.w + kx);
        }
      }
    }
  }
}

template <class Body>
void for_each_image(std::int64_t n, Body&& body) {
  parallel_blocks(n, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t image = begin; image < end; ++image) body(image);
  });
}

template <class T>
void prepare_gradient(T* dx, const PoolGeometry& g, std::int64_t image, bool accumulate) {
  std::int64_t size = g.h * g.w * g.c;
  if (!accumulate) std::fill(dx + image * size, dx + (image + 1) * size, T(0));
}

// ---- maximum ------------------------------------------------------------------------------------------------------

void infer_max(InferContext& c) {
  require_float(c, 0);
  PoolGeometry g = pool_geometry("max_pool2d", c.shape(0), c.attrs());
  if (g.window.h > 255 || g.window.w > 255 || g.window.h * g.window.w > 255) {
    fail(ErrorKind::user, "[max_pool2d] expected a window of at most 255 positions, got {}x{}", g.window.h, g.window.w);
  }
  Shape shape{g.n, g.oh, g.ow, g.c};
  c.result(0, c.dtype(0), shape);
  c.result(1, DType::u8, shape);
}

void forward_max(ForwardContext& c) {
  PoolGeometry g = pool_geometry("max_pool2d", c.in(0).shape, *c.attrs);
  dispatch_float(c.in(0).dtype, [&]<class T>() {
    const T* x = c.in(0).as<T>();
    T* y = c.out(0).as<T>();
    auto* winner = c.out(1).as<std::uint8_t>();
    for_each_image(g.n, [&](std::int64_t image) {
      std::int64_t size = g.oh * g.ow * g.c;
      std::fill(y + image * size, y + (image + 1) * size, -std::numeric_limits<T>::infinity());
      std::fill(winner + image * size, winner + (image + 1) * size, std::uint8_t{255});
      for_each_meeting(g, image, [&](std::int64_t out, std::int64_t in, std::int64_t position) {
        for (std::int64_t i = 0; i < g.c; ++i) {
          // The first position always wins against the start, and NaN wins and stays, as in PyTorch.
          bool wins = x[in + i] > y[out + i] || winner[out + i] == 255 || x[in + i] != x[in + i];
          y[out + i] = wins ? x[in + i] : y[out + i];
          winner[out + i] = wins ? static_cast<std::uint8_t>(position) : winner[out + i];
        }
      });
    });
  });
}

void backward_max(BackwardContext& c) {
  PoolGeometry g = pool_geometry("max_pool2d", c.operand_shape(0).shape, *c.attrs);
  if (!c.wants(0)) return;
  dispatch_float(c.grad_out(0).dtype, [&]<class T>() {
    const T* dy = c.grad_out(0).as<T>();
    const auto* winner = c.out(1).as<std::uint8_t>();
    T* dx = c.grad(0).as<T>();
    for_each_image(g.n, [&](std::int64_t image) {
      prepare_gradient(dx, g, image, c.accumulates(0));
      for_each_meeting(g, image, [&](std::int64_t out, std::int64_t in, std::int64_t position) {
        for (std::int64_t i = 0; i < g.c; ++i) dx[in + i] += winner[out + i] == position ? dy[out + i] : T(0);
      });
    });
  });
}

// ---- average ------------------------------------------------------------------------------------------------------

void infer_avg(InferContext& c) {
  require_float(c, 0);
  PoolGeometry g = pool_geometry("avg_pool2d", c.shape(0), c.attrs());
  c.result(0, c.dtype(0), {g.n, g.oh, g.ow, g.c});
}

void forward_avg(ForwardContext& c) {
  PoolGeometry g = pool_geometry("avg_pool2d", c.in(0).shape, *c.attrs);
  dispatch_float(c.in(0).dtype, [&]<class T>() {
    const T* x = c.in(0).as<T>();
    T* y = c.out(0).as<T>();
    T scale = T(1) / static_cast<T>(g.window.h * g.window.w);
    for_each_image(g.n, [&](std::int64_t image) {
      std::int64_t size = g.oh * g.ow * g.c;
      std::fill(y + image * size, y + (image + 1) * size, T(0));
      for_each_meeting(g, image, [&](std::int64_t out, std::int64_t in, std::int64_t) {
        for (std::int64_t i = 0; i < g.c; ++i) y[out + i] += x[in + i];
      });
      for (std::int64_t i = image * size; i < (image + 1) * size; ++i) y[i] *= scale;
    });
  });
}

void backward_avg(BackwardContext& c) {
  PoolGeometry g = pool_geometry("avg_pool2d", c.operand_shape(0).shape, *c.attrs);
  if (!c.wants(0)) return;
  dispatch_float(c.grad_out(0).dtype, [&]<class T>() {
    const T* dy = c.grad_out(0).as<T>();
    T* dx = c.grad(0).as<T>();
    T scale = T(1) / static_cast<T>(g.window.h * g.window.w);
    for_each_image(g.n, [&](std::int64_t image) {
      prepare_gradient(dx, g, image, c.accumulates(0));
      for_each_meeting(g, image, [&](std::int64_t out, std::int64_t in, std::int64_t) {
        for (std::int64_t i = 0; i < g.c; ++i) dx[in + i] += dy[out + i] * scale;
      });
    });
  });
}

// ---- global average -----------------------------------------------------------------------------------------------

void infer_global(InferContext& c) {
  require_float(c, 0);
  const Shape& x = c.shape(0);
  if (x.size() != 4 || x[1] * x[2] < 1)
    fail(ErrorKind::user, "[global_avg_pool] expected x [n, h, w, c] with at least one pixel, got {}", to_string(x));
  c.result(0, c.dtype(0), {x[0], x[3]});
}

void forward_global(ForwardContext& c) {
  const Shape& s = c.in(0).shape;
  std::int64_t pixels = s[1] * s[2], channels = s[3];
  dispatch_float(c.in(0).dtype, [&]<class T>() {
    const T* x = c.in(0).as<T>();
    T* y = c.out(0).as<T>();
    T scale = T(1) / static_cast<T>(pixels);
    for_each_image(s[0], [&](std::int64_t image) {
      T* sums = y + image * channels;
      std::fill(sums, sums + channels, T(0));
      for (std::int64_t p = 0; p < pixels; ++p) {
        const T* row = x + (image * pixels + p) * channels;
        for (std::int64_t i = 0; i < channels; ++i) sums[i] += row[i];
      }
      for (std::int64_t i = 0; i < channels; ++i) sums[i] *= scale;
    });
  });
}

void backward_global(BackwardContext& c) {
  Shape s = c.operand_shape(0).shape;
  std::int64_t pixels = s[1] * s[2], channels = s[3];
  if (!c.wants(0)) return;
  dispatch_float(c.grad_out(0).dtype, [&]<class T>() {
    const T* dy = c.grad_out(0).as<T>();
    T* dx = c.grad(0).as<T>();
    T scale = T(1) / static_cast<T>(pixels);
    bool accumulate = c.accumulates(0);
    for_each_image(s[0], [&](std::int64_t image) {
      const T* from = dy + image * channels;
      for (std::int64_t p = 0; p < pixels; ++p) {
        T* row = dx + (image * pixels + p) * channels;
        if (accumulate)
          for (std::int64_t i = 0; i < channels; ++i) row[i] += from[i] * scale;
        else
          for (std::int64_t i = 0; i < channels; ++i) row[i] = from[i] * scale;
      }
    });
  });
}

Attrs pool_attrs(const PoolOptions& o) {
  std::int64_t stride_h = o.stride.h == 0 ? o.window.h : o.stride.h,
               stride_w = o.stride.w == 0 ? o.window.w : o.stride.w;
  return Attrs().add(o.window.h).add(o.window.w).add(stride_h).add(stride_w).add(o.padding.h).add(o.padding.w);
}

const std::vector<AttrSpec> kPoolAttrs{{"window_h", AttrKind::integer},  {"window_w", AttrKind::integer},
                                       {"stride_h", AttrKind::integer},  {"stride_w", AttrKind::integer},
                                       {"padding_h", AttrKind::integer}, {"padding_w", AttrKind::integer}};

}  // namespace

const Op kMaxPool2d{
    .name = "max_pool2d",
    .about = "largest element of each window; remembers which one",
    .inputs = {"x"},
    .outputs = {"y"},
    .made = {"winner"},
    .attrs = kPoolAttrs,
    .saves = {{"x", {made("winner")}}},
    .accumulates = true,
    .fails_first = true,
    .infer = infer_max,
    .forward = forward_max,
    .backward = backward_max,
};

const Op kAvgPool2d{
    .name = "avg_pool2d",
    .about = "mean of each window, padding counted as zeros",
    .inputs = {"x"},
    .outputs = {"y"},
    .attrs = kPoolAttrs,
    .saves = {{"x", {}}},
    .accumulates = true,
    .fails_first = true,
    .infer = infer_avg,
    .forward = forward_avg,
    .backward = backward_avg,
};

const Op kGlobalAvgPool{
    .name = "global_avg_pool",
    .about = "mean of each channel over the image",
    .inputs = {"x"},
    .outputs = {"y"},
    .saves = {{"x", {}}},
    .accumulates = true,
    .fails_first = true,
    .infer = infer_global,
    .forward = forward_global,
    .backward = backward_global,
};

Value max_pool2d(Tape& tape, Arg x, const PoolOptions& options) {
  return tape.apply_one(kMaxPool2d, {std::move(x)}, pool_attrs(options));
}
Value avg_pool2d(Tape& tape, Arg x, const PoolOptions& options) {
  return tape.apply_one(kAvgPool2d, {std::move(x)}, pool_attrs(options));
}
Value global_avg_pool(Tape& tape, Arg x) { return tape.apply_one(kGlobalAvgPool, {std::move(x)}); }

void register_pool_ops() {
  register_op(kMaxPool2d);
  register_op(kAvgPool2d);
  register_op(kGlobalAvgPool);
}

}  // namespace reprise
