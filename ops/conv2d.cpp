#include "ops/conv2d.h"

#include <algorithm>
#include <span>
#include <type_traits>

#include "core/parallel.h"
#include "ops/column_sums.h"
#include "ops/conv_geometry.h"
#include "ops/conv_portable.h"
#include "ops/implementation.h"
#include "ops/kernels.h"
#include "ops/onednn.h"
#include "ops/operands.h"
#include "ops/winograd.h"

namespace reprise {
namespace {

enum Operand { kX, kWeight, kBias };

std::int64_t workspace_of(const ConvGeometry& g, ConvPass pass, DType dtype) {
  ConvImplementation implementation = choose_conv(g, pass, dtype);
  if (implementation == ConvImplementation::eigen) return portable::conv_workspace(g, pass, size_of(dtype));
  if (implementation == ConvImplementation::winograd) return winograd::workspace(g, pass);
  return onednn::conv_workspace(g, pass);
}

template <class Context>
std::span<std::byte> workspace_of(const Context& c) {
  return {c.workspace, static_cast<std::size_t>(c.workspace_bytes)};
}

/// oneDNN's kernels of another number of threads want another workspace than was asked for.
void require_workspace(const ConvGeometry& g, ConvPass pass, std::int64_t bytes) {
  if (onednn::conv_workspace(g, pass) <= bytes) return;
  fail(
      ErrorKind::user,
      "[conv2d] expected the number of threads that there was when it was recorded, got {}. Set threads between steps.",
      thread_count());
}

ConvGeometry for_backward(ConvGeometry g) {
  g.bias = false;
  return g;
}

void infer(InferContext& c) {
  bool bias = c.has(kBias);
  ConvGeometry g = conv_geometry(c.shape(kX), c.shape(kWeight), c.attrs(), bias);
  require_floats(c, bias ? 3 : 2);
  if (bias && c.shape(kBias) != Shape{g.out}) {
    fail(ErrorKind::user, "[conv2d] expected bias [{}] beside weight {}, got {}", g.out, to_string(c.shape(kWeight)),
         to_string(c.shape(kBias)));
  }
  c.result(0, c.dtype(kX), {g.n, g.oh, g.ow, g.out});
  DType dtype = c.dtype(kX);
  ConvGeometry b = for_backward(g);
  std::int64_t backward =
      std::max(workspace_of(b, ConvPass::backward_data, dtype), workspace_of(b, ConvPass::backward_weights, dtype));
  if (bias) backward = std::max(backward, column_sums_workspace(g.n * g.oh * g.ow, g.out));
  c.workspace(workspace_of(g, ConvPass::forward, dtype), backward);
}

void forward(ForwardContext& c) {
  const TensorView& x = c.in(kX);
  ConvGeometry g = conv_geometry(x.shape, c.in(kWeight).shape, *c.attrs, c.has(kBias));
  ConvImplementation implementation = choose_conv(g, ConvPass::forward, x.dtype);
  dispatch_float(x.dtype, [&]<class T>() {
    const T* bias = g.bias ? c.in(kBias).as<T>() : nullptr;
    if constexpr (std::is_same_v<T, float>) {
      if (implementation == ConvImplementation::winograd) {
        winograd::forward(g, x.as<T>(), c.in(kWeight).as<T>(), bias, c.out(0).as<T>(), workspace_of(c));
        return;
      }
      if (implementation == ConvImplementation::onednn) {
        require_workspace(g, ConvPass::forward, c.workspace_bytes);
        onednn::conv_forward(g, x.as<T>(), c.in(kWeight).as<T>(), bias, c.out(0).as<T>(), c.workspace);
        return;
      }
    }
    portable::conv_forward<T>(g, x.as<T>(), c.in(kWeight).as<T>(), bias, c.out(0).as<T>(), c.workspace);
  });
}

template <class T>
ConvImplementation backward_implementation(const ConvGeometry& g, ConvPass pass) {
  return std::is_same_v<T, float> ? choose_conv(g, pass, DType::f32) : ConvImplementation::eigen;
}

/// Compiles what a pass will run. It may fail, so it is done for all passes before the first of them writes.
void prepare_pass(const ConvGeometry& g, ConvImplementation implementation, ConvPass pass, bool accumulate,
                  std::int64_t bytes) {
  if (implementation != ConvImplementation::onednn) return;
  require_workspace(g, pass, bytes);
  onednn::prepare_conv(g, pass, accumulate);
}

template <class T>
void backward_data(BackwardContext& c, const ConvGeometry& g, ConvImplementation implementation) {
  const T* dy = c.grad_out(0).as<T>();
  const T* weight = c.in(kWeight).as<T>();
  T* dx = c.grad(kX).as<T>();
  if constexpr (std::is_same_v<T, float>) {
    if (implementation == ConvImplementation::winograd) {
      winograd::backward_data(g, dy, weight, dx, c.accumulates(kX), workspace_of(c));
      return;
    }
    if (implementation == ConvImplementation::onednn) {
      onednn::conv_backward_data(g, dy, weight, dx, c.accumulates(kX), c.workspace);
      return;
    }
  }
  portable::conv_backward_data<T>(g, dy, weight, dx, c.accumulates(kX), c.workspace);
}

template <class T>
void backward_weights(BackwardContext& c, const ConvGeometry& g, ConvImplementation implementation) {
  const T* dy = c.grad_out(0).as<T>();
  const T* x = c.in(kX).as<T>();
  T* dw = c.grad(kWeight).as<T>();
  if constexpr (std::is_same_v<T, float>) {
    if (implementation == ConvImplementation::winograd) {
      winograd::backward_weights(g, x, dy, dw, c.accumulates(kWeight), workspace_of(c));
      return;
    }
    if (implementation == ConvImplementation::onednn) {
      onednn::conv_backward_weights(g, x, dy, dw, c.accumulates(kWeight), c.workspace);
      return;
    }
  }
  portable::conv_backward_weights<T>(g, x, dy, dw, c.accumulates(kWeight), c.workspace);
}

void backward(BackwardContext& c) {
  ConvGeometry g = conv_geometry(c.operand_shape(kX).shape, c.operand_shape(kWeight).shape, *c.attrs, false);
  dispatch_float(c.grad_out(0).dtype, [&]<class T>() {
    ConvImplementation data = ConvImplementation::eigen, weights = ConvImplementation::eigen;
    if (c.wants(kX)) data = backward_implementation<T>(g, ConvPass::backward_data);
    if (c.wants(kWeight)) weights = backward_implementation<T>(g, ConvPass::backward_weights);
    prepare_pass(g, data, ConvPass::backward_data, c.accumulates(kX), c.workspace_bytes);
    prepare_pass(g, weights, ConvPass::backward_weights, c.accumulates(kWeight), c.workspace_bytes);
    // The weights first: the gradient of x may take over the memory of x.
    if (c.wants(kWeight)) backward_weights<T>(c, g, weights);
    if (c.wants(kX)) backward_data<T>(c, g, data);
    if (c.inputs > kBias && c.wants(kBias)) {
      column_sums(c.grad_out(0).as<T>(), g.n * g.oh * g.ow, g.out, c.grad(kBias).as<T>(), c.accumulates(kBias),
                  c.workspace);
    }
  });
}

}  // namespace

ConvGeometry conv_geometry(const Shape& x, const Shape& weight, const Attrs& attrs, bool bias) {
  ConvGeometry g;
  g.stride = Pair(attrs.integer(0), attrs.integer(1));
  g.padding = Pair(attrs.integer(2), attrs.integer(3));
  g.dilation = Pair(attrs.integer(4), attrs.integer(5));
  g.groups = attrs.integer(6);
  g.bias = bias;
  if (x.size() != 4 || weight.size() != 4) {
    fail(ErrorKind::user, "[conv2d] expected x [n, h, w, in] and weight [out, in / groups, kh, kw], got {} and {}",
         to_string(x), to_string(weight));
  }
  if (g.stride.h < 1 || g.stride.w < 1 || g.dilation.h < 1 || g.dilation.w < 1 || g.padding.h < 0 || g.padding.w < 0 ||
      g.groups < 1) {
    fail(ErrorKind::user,
         "[conv2d] expected stride, dilation and groups of at least 1 and padding of at least 0, got stride {}x{}, "
         "padding {}x{}, dilation {}x{}, groups {}",
         g.stride.h, g.stride.w, g.padding.h, g.padding.w, g.dilation.h, g.dilation.w, g.groups);
  }
  g.n = x[0], g.h = x[1], g.w = x[2], g.in = x[3];
  g.out = weight[0], g.kh = weight[2], g.kw = weight[3];
  if (g.in % g.groups != 0 || g.out % g.groups != 0 || weight[1] != g.in / g.groups || g.kh < 1 || g.kw < 1) {
    fail(ErrorKind::user, "[conv2d] expected weight [out, {} / {}, kh, kw] for x {} in {} groups, got {}", g.in,
         g.groups, to_string(x), g.groups, to_string(weight));
  }
  g.oh = window_count(g.h, g.kh, g.stride.h, g.padding.h, g.dilation.h);
  g.ow = window_count(g.w, g.kw, g.stride.w, g.padding.w, g.dilation.w);
  if (g.oh < 1 || g.ow < 1) {
    fail(ErrorKind::user,
         "[conv2d] expected a kernel that fits into the padded image, got x {} and weight {} with padding {}x{}",
         to_string(x), to_string(weight), g.padding.h, g.padding.w);
  }
  element_count({g.n, g.oh, g.ow, g.out});  // refuses what no memory holds, before sizes are reckoned from it
  return g;
}

const Op kConv2d{
    .name = "conv2d",
    .about = "2-D convolution, NHWC by OIHW; oneDNN's gradient of weight repeats bit for bit at one thread count only",
    .inputs = {"x", "weight", "bias?"},
    .outputs = {"y"},
    .attrs = {{"stride_h", AttrKind::integer},
              {"stride_w", AttrKind::integer},
              {"padding_h", AttrKind::integer},
              {"padding_w", AttrKind::integer},
              {"dilation_h", AttrKind::integer},
              {"dilation_w", AttrKind::integer},
              {"groups", AttrKind::integer}},
    .saves = {{"x", {in("weight")}}, {"weight", {in("x")}}, {"bias", {}}},
    .saved_reuse = {{in("x"), "x"}},
    .accumulates = true,
    .fails_first = true,
    .infer = infer,
    .forward = forward,
    .backward = backward,
};

Value conv2d(Tape& tape, Arg x, Arg weight, Arg bias, const ConvOptions& o) {
  Attrs attrs;
  attrs.add(o.stride.h)
      .add(o.stride.w)
      .add(o.padding.h)
      .add(o.padding.w)
      .add(o.dilation.h)
      .add(o.dilation.w)
      .add(o.groups);
  if (is_left_out(bias)) return tape.apply_one(kConv2d, {std::move(x), std::move(weight)}, attrs);
  return tape.apply_one(kConv2d, {std::move(x), std::move(weight), std::move(bias)}, attrs);
}

void register_conv2d_ops() { register_op(kConv2d); }

}  // namespace reprise
