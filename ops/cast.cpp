// cast: two ops, because a contract is differentiable or it is not. Between floats the gradient is cast back; to or
// from an integer none passes.
#include "ops/cast.h"

#include <limits>

#include "ops/broadcast.h"
#include "ops/elementwise_functors.h"
#include "ops/kernels.h"
#include "ops/shape_ops.h"

namespace reprise {

namespace {

// The rule for floats: ops/cast.h.
template <class To>
To to_integer(double x) {
  if (!(x == x)) return To(0);
  if (x >= static_cast<double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  if (x <= static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  return static_cast<To>(x);
}

template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<From, BFloat16>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    if constexpr (std::is_same_v<From, float>) return BFloat16(x);
    if constexpr (std::is_same_v<From, std::int64_t>) {
      // A double does not hold all of them: what lies below its last bit is put into that one, so that no tie is made.
      constexpr std::int64_t kBelow = 1023, kExact = std::int64_t{1} << 53;
      if ((x >= kExact || x <= -kExact) && (x & kBelow) != 0) x = (x & ~kBelow) | (kBelow + 1);
    }
    return functors::to_bf16(static_cast<double>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return to_integer<To>(static_cast<double>(x));
  } else {
    return static_cast<To>(x);
  }
}

// One loop for any strides: 49 pairs of types would be a large part of the build with one loop for each kind of stride.
template <class To, class From>
void convert_run(const void*, std::byte* out, std::int64_t out_stride, const loops::RunInputs& in, std::int64_t n) {
  To* to = reinterpret_cast<To*>(out);
  const From* from = reinterpret_cast<const From*>(in.data[0]);
  std::int64_t stride = in.stride[0];
  if (std::is_floating_point_v<From> && stride == 1 && out_stride == 1) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = convert<To>(from[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * out_stride] = convert<To>(from[i * stride]);
  }
}

void cast_elements(const TensorView& to, const TensorView& from) {
  const TensorView* in[] = {&from};
  dispatch_any(from.dtype, [&]<class From>() {
    dispatch_any(to.dtype, [&]<class To>() { loops::run_map(&convert_run<To, From>, nullptr, to, in, 1); });
  });
}

void infer(InferContext& c) { c.result(0, static_cast<DType>(c.attrs().integer(0)), c.shape(0)); }
void forward(ForwardContext& c) { cast_elements(c.out(0), c.in(0)); }
void backward(BackwardContext& c) { cast_elements(c.grad(0), c.grad_out(0)); }

}  // namespace

const Op kCast{.name = "cast",
               .about = "a float in another float type; the gradient is cast back",
               .inputs = {"x"},
               .outputs = {"out"},
               .attrs = {{"dtype", AttrKind::integer}},
               .saves = {{"x", {}}},
               .strided = true,
               .infer = infer,
               .forward = forward,
               .backward = backward};

const Op kCastHard{.name = "cast_hard",
                   .about = "to or from an integer type; floats are truncated; no gradient",
                   .inputs = {"x"},
                   .outputs = {"out"},
                   .attrs = {{"dtype", AttrKind::integer}},
                   .strided = true,
                   .infer = infer,
                   .forward = forward};

Value cast(Tape& tape, Arg x, DType dtype) {
  DType from = x.dtype();
  if (from == dtype) {
    Shape shape = x.shape();
    return reshape(tape, std::move(x), shape);
  }
  const Op& op = is_floating(from) && is_floating(dtype) ? kCast : kCastHard;
  return tape.apply_one(op, {std::move(x)}, Attrs().add(static_cast<int>(dtype)));
}

void register_cast_ops() {
  register_op(kCast);
  register_op(kCastHard);
}

}  // namespace reprise
