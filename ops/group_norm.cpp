#include "ops/group_norm.h"

#include <algorithm>
#include <cmath>

#include "core/parallel.h"
#include "ops/kernels.h"

namespace reprise {
namespace {

enum Operand { kX, kGamma, kBeta };
enum Result { kY, kMean, kRstd };

struct Layout {
  std::int64_t images, pixels = 1, channels, groups, per_group;

  Layout(const Shape& x, std::int64_t group_count)
      : images(x[0]), channels(x.back()), groups(group_count), per_group(channels / group_count) {
    for (int i = 1; i + 1 < x.size(); ++i) pixels *= x[i];
  }
  std::int64_t image_size() const { return pixels * channels; }
  /// Elements of one group of one image.
  std::int64_t group_size() const { return pixels * per_group; }
  /// Images that one thread takes at a time.
  std::int64_t grain() const { return row_grain(image_size()); }
};

void infer(InferContext& c) {
  const Shape& x = c.shape(kX);
  std::int64_t groups = c.attrs().integer(0);
  require_floats(c, 3);
  if (x.size() < 2 || groups < 1 || x.back() < 1 || x.back() % groups != 0) {
    fail(ErrorKind::user, "[group_norm] expected x [n, ..., channels] with channels in {} equal groups, got {}", groups,
         to_string(x));
  }
  Layout at(x, groups);
  if (at.pixels < 1)
    fail(ErrorKind::user, "[group_norm] expected images with at least one pixel, got {}", to_string(x));
  for (int i : {kGamma, kBeta}) {
    if (c.shape(i) != Shape{at.channels}) {
      fail(ErrorKind::user, "[group_norm] expected gamma and beta [{}] for x {}, got {}", at.channels, to_string(x),
           to_string(c.shape(i)));
    }
  }
  c.result(kY, c.dtype(kX), x);
  c.result(kMean, c.dtype(kX), {at.images, groups});
  c.result(kRstd, c.dtype(kX), {at.images, groups});
  std::int64_t row = at.images * at.channels * static_cast<std::int64_t>(sizeof(double));
  c.workspace(row, 2 * row);
}

/// Calls body(image) for every image, in parallel.
template <class Body>
void for_each_image(const Layout& at, const Body& body) {
  parallel_blocks(at.images, at.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t image = begin; image < end; ++image) body(image);
  });
}

/// sums[c] = the sum over the pixels of f(element of the image, c), each channel by itself.
template <class F>
void sum_pixels(const Layout& at, double* sums, const F& f) {
  std::fill(sums, sums + at.channels, 0.0);
  for (std::int64_t p = 0; p < at.pixels; ++p) {
    std::int64_t row = p * at.channels;
#pragma omp simd
    for (std::int64_t c = 0; c < at.channels; ++c) sums[c] += f(row + c, c);
  }
}

double sum_group(const Layout& at, const double* sums, std::int64_t group) {
  double sum = 0;
  for (std::int64_t c = group * at.per_group; c < (group + 1) * at.per_group; ++c) sum += sums[c];
  return sum;
}

/// Calls body(element, channel) for the elements of one group of an image, pixel by pixel.
template <class Body>
void for_each_of_group(const Layout& at, std::int64_t group, const Body& body) {
  std::int64_t begin = group * at.per_group, end = begin + at.per_group;
  for (std::int64_t p = 0; p < at.pixels; ++p) {
    std::int64_t row = p * at.channels;
#pragma omp simd
    for (std::int64_t c = begin; c < end; ++c) body(row + c, c);
  }
}

template <class T>
void forward_image(const ForwardContext& c, const Layout& at, std::int64_t image, double* sums) {
  T eps = static_cast<T>(c.attrs->real(1));
  const T *x = c.in(kX).as<T>() + image * at.image_size(), *gamma = c.in(kGamma).as<T>(), *beta = c.in(kBeta).as<T>();
  T* y = c.out(kY).as<T>() + image * at.image_size();
  T *mean = c.out(kMean).as<T>() + image * at.groups, *rstd = c.out(kRstd).as<T>() + image * at.groups;
  auto size = static_cast<double>(at.group_size());
  sum_pixels(at, sums, [&](std::int64_t i, std::int64_t) { return static_cast<double>(x[i]); });
  for (std::int64_t g = 0; g < at.groups; ++g) {
    double m = sum_group(at, sums, g) / size;
    mean[g] = static_cast<T>(m);
    for (std::int64_t k = g * at.per_group; k < (g + 1) * at.per_group; ++k) sums[k] = 0;
    for_each_of_group(at, g, [&](std::int64_t i, std::int64_t k) {
      double away = static_cast<double>(x[i]) - m;
      sums[k] += away * away;
    });
    double variance = sum_group(at, sums, g) / size;
    rstd[g] = static_cast<T>(1.0 / std::sqrt(variance + static_cast<double>(eps)));
    T centre = mean[g], scale = rstd[g];
    for_each_of_group(at, g,
                      [&](std::int64_t i, std::int64_t k) { y[i] = (x[i] - centre) * scale * gamma[k] + beta[k]; });
  }
}

void forward(ForwardContext& c) {
  Layout at(c.in(kX).shape, c.attrs->integer(0));
  auto* sums = reinterpret_cast<double*>(c.workspace);
  dispatch_float(c.in(kX).dtype, [&]<class T>() {
    for_each_image(at, [&](std::int64_t image) { forward_image<T>(c, at, image, sums + image * at.channels); });
  });
}

// With xhat = (x - mean) rstd, for each image and channel: the sums over the pixels of dy, and of dy xhat. The
// gradients of beta and gamma are their sums over the images; those of a group give dx.
template <class T>
void channel_sums(BackwardContext& c, const Layout& at, std::int64_t image, double* of_dy, double* of_product) {
  const T* dy = c.grad_out(kY).as<T>() + image * at.image_size();
  sum_pixels(at, of_dy, [&](std::int64_t i, std::int64_t) { return static_cast<double>(dy[i]); });
  if (!of_product) return;
  const T* x = c.in(kX).as<T>() + image * at.image_size();
  const T *mean = c.out(kMean).as<T>() + image * at.groups, *rstd = c.out(kRstd).as<T>() + image * at.groups;
  std::fill(of_product, of_product + at.channels, 0.0);
  for (std::int64_t g = 0; g < at.groups; ++g) {
    T centre = mean[g], scale = rstd[g];
    for_each_of_group(at, g, [&](std::int64_t i, std::int64_t k) {
      of_product[k] += static_cast<double>(dy[i]) * static_cast<double>((x[i] - centre) * scale);
    });
  }
}

// dx = rstd (g - mean(g) - xhat mean(g xhat)) with g = dy gamma, means over the group.
template <class T>
void backward_image(BackwardContext& c, const Layout& at, std::int64_t image, double* of_dy, double* of_product) {
  const T *x = c.in(kX).as<T>() + image * at.image_size(), *gamma = c.in(kGamma).as<T>();
  const T* dy = c.grad_out(kY).as<T>() + image * at.image_size();
  const T *mean = c.out(kMean).as<T>() + image * at.groups, *rstd = c.out(kRstd).as<T>() + image * at.groups;
  T* dx = c.grad(kX).as<T>() + image * at.image_size();
  bool accumulate = c.accumulates(kX);
  for (std::int64_t k = 0; k < at.channels; ++k) {
    of_dy[k] *= static_cast<double>(gamma[k]);
    of_product[k] *= static_cast<double>(gamma[k]);
  }
  auto size = static_cast<double>(at.group_size());
  for (std::int64_t g = 0; g < at.groups; ++g) {
    T all = static_cast<T>(sum_group(at, of_dy, g) / size), along = static_cast<T>(sum_group(at, of_product, g) / size);
    T centre = mean[g], scale = rstd[g];
    for_each_of_group(at, g, [&](std::int64_t i, std::int64_t k) {
      T value = scale * (dy[i] * gamma[k] - all - (x[i] - centre) * scale * along);
      dx[i] = accumulate ? dx[i] + value : value;
    });
  }
}

/// target[c] (+)= the sum over the images, in order.
template <class T>
void sum_images(BackwardContext& c, const Layout& at, int parameter, const double* sums) {
  T* target = c.grad(parameter).as<T>();
  for (std::int64_t k = 0; k < at.channels; ++k) {
    double sum = c.accumulates(parameter) ? static_cast<double>(target[k]) : 0.0;
    for (std::int64_t image = 0; image < at.images; ++image) sum += sums[image * at.channels + k];
    target[k] = static_cast<T>(sum);
  }
}

void backward(BackwardContext& c) {
  Layout at(c.operand_shape(kX).shape, c.attrs->integer(0));
  auto* of_dy = reinterpret_cast<double*>(c.workspace);
  bool products = c.wants(kX) || c.wants(kGamma);
  double* of_product = products ? of_dy + at.images * at.channels : nullptr;
  dispatch_float(c.grad_out(kY).dtype, [&]<class T>() {
    for_each_image(at, [&](std::int64_t image) {
      std::int64_t row = image * at.channels;
      channel_sums<T>(c, at, image, of_dy + row, products ? of_product + row : nullptr);
    });
    // The parameters first: dx may take over the memory of dy or x, and its loop changes the sums.
    if (c.wants(kBeta)) sum_images<T>(c, at, kBeta, of_dy);
    if (c.wants(kGamma)) sum_images<T>(c, at, kGamma, of_product);
    if (!c.wants(kX)) return;
    for_each_image(at, [&](std::int64_t image) {
      std::int64_t row = image * at.channels;
      backward_image<T>(c, at, image, of_dy + row, of_product + row);
    });
  });
}

}  // namespace

const Op kGroupNorm{
    .name = "group_norm",
    .about = "normalises each group of channels of an image to mean 0 and variance 1, then scales and shifts",
    .inputs = {"x", "gamma", "beta"},
    .outputs = {"y"},
    .made = {"mean", "rstd"},
    .attrs = {{"groups", AttrKind::integer}, {"eps", AttrKind::real}},
    .saves = {{"x", {in("x"), in("gamma"), made("mean"), made("rstd")}},
              {"gamma", {in("x"), made("mean"), made("rstd")}},
              {"beta", {}}},
    .keeps = {"mean", "rstd"},
    .reuse = {{"x", "y"}},
    .grad_reuse = {{"y", "x"}},
    .saved_reuse = {{in("x"), "x"}},
    .accumulates = true,
    .fails_first = true,
    .infer = infer,
    .forward = forward,
    .backward = backward,
};

Value group_norm(Tape& tape, Arg x, std::int64_t groups, Arg gamma, Arg beta, double eps) {
  return tape.apply_one(kGroupNorm, {std::move(x), std::move(gamma), std::move(beta)}, Attrs().add(groups).add(eps));
}

void register_group_norm_ops() { register_op(kGroupNorm); }

}  // namespace reprise
