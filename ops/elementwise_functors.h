// The bodies of the elementwise ops, one functor each, used by the CPU kernels and instantiated for CUDA
// (ops/elementwise.cu). A functor sees elements only, and is a pure function of its arguments.
//
// XGrad functors give the operand's gradient from the arriving gradient g and what the op's contract saves.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/dtype.h"
#include "ops/vector_math.h"

namespace reprise::functors {

#define REPRISE_FUNCTOR(Name, parameters, body)         \
  struct Name {                                         \
    template <class T>                                  \
    REPRISE_HOST_DEVICE T operator() parameters const { \
      body;                                             \
    }                                                   \
  };

// ---- two operands
REPRISE_FUNCTOR(Add, (T a, T b), return a + b)
REPRISE_FUNCTOR(Sub, (T a, T b), return a - b)
REPRISE_FUNCTOR(Mul, (T a, T b), return a * b)
REPRISE_FUNCTOR(Div, (T a, T b), return a / b)
struct DivGradB {
  /// -g a / b^2; divided by b twice where the square leaves the range of T, which the result need not do.
  template <class T>
  REPRISE_HOST_DEVICE T operator()(T g, T a, T b) const {
    constexpr T kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
    T product = -g * a, square = b * b;
    bool fits = square >= kLeast && square <= kMost;
    return (fits ? product : product / b) / (fits ? square : b);
  }
};
REPRISE_FUNCTOR(Less, (T a, T b), return T(a < b))
REPRISE_FUNCTOR(LessEqual, (T a, T b), return T(a <= b))
REPRISE_FUNCTOR(Greater, (T a, T b), return T(a > b))
REPRISE_FUNCTOR(GreaterEqual, (T a, T b), return T(a >= b))
REPRISE_FUNCTOR(Equal, (T a, T b), return T(a == b))
REPRISE_FUNCTOR(NotEqual, (T a, T b), return T(a != b))

// Integers add up, subtract and multiply modulo 2^64, like NumPy's; plain signed overflow would be undefined.
template <class F>
struct Wrapping {
  REPRISE_HOST_DEVICE std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    return static_cast<std::int64_t>(F{}(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  }
};

/// Remainder with the divisor's sign.
struct Mod {
  template <class T>
  REPRISE_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      T r = std::fmod(a, b);
      return r != T(0) && ((r < T(0)) != (b < T(0))) ? r + b : r;
    } else {
      if (b == T(0) || b == T(-1)) return T(0);  // -1: the quotient of the smallest integer would overflow
      T r = a % b;
      return r != T(0) && ((r < T(0)) != (b < T(0))) ? r + b : r;
    }
  }
};

// ---- one operand
REPRISE_FUNCTOR(Copy, (T x), return x)
struct Neg {
  template <class T>
  REPRISE_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(std::make_unsigned_t<T>(0) - static_cast<std::make_unsigned_t<T>>(x));  // goes round too
    } else {
      return -x;
    }
  }
};
REPRISE_FUNCTOR(Abs, (T x), return x < T(0) ? Neg{}(x) : x + T(0))  // + 0: the absolute value of -0 is 0
REPRISE_FUNCTOR(Exp, (T x), return math::exp(x))
REPRISE_FUNCTOR(Log, (T x), return std::log(x))
REPRISE_FUNCTOR(Sqrt, (T x), return std::sqrt(x))
REPRISE_FUNCTOR(Sin, (T x), return std::sin(x))
REPRISE_FUNCTOR(Cos, (T x), return std::cos(x))
REPRISE_FUNCTOR(Tanh, (T x), return math::tanh(x))
REPRISE_FUNCTOR(Sigmoid, (T x), return math::sigmoid(x))
REPRISE_FUNCTOR(Relu, (T x), return x < T(0) ? T(0) : x)
REPRISE_FUNCTOR(Gelu, (T x), return T(0.5) * x * (T(1) + std::erf(x * T(0.70710678118654752440))))
REPRISE_FUNCTOR(Silu, (T x), return x * math::sigmoid(x))
REPRISE_FUNCTOR(Round, (T x), return std::nearbyint(x))

/// The nearest bf16 number. Rounds once: through the nearest f32 it would round twice. So where the double lies between
/// two floats the odd one of them is taken, which is never a tie of the second rounding.
REPRISE_HOST_DEVICE inline BFloat16 to_bf16(double x) {
  float f = static_cast<float>(x);
  double back = static_cast<double>(f);
  std::uint32_t word = std::bit_cast<std::uint32_t>(f);
  if (back != x && x == x && (word & 1u) == 0) {
    f = std::bit_cast<float>(std::fabs(x) > std::fabs(back) ? word + 1u : word - 1u);
  }
  return BFloat16(f);
}

struct RoundBf16 {
  REPRISE_HOST_DEVICE float operator()(float x) const { return static_cast<float>(BFloat16(x)); }
  REPRISE_HOST_DEVICE double operator()(double x) const { return static_cast<double>(static_cast<float>(to_bf16(x))); }
};

template <class T>
struct Clamp {
  T lo, hi;
  REPRISE_HOST_DEVICE T operator()(T x) const { return x < lo ? lo : (x > hi ? hi : x); }
};
template <class T>
struct ClampGrad {
  T lo, hi;
  REPRISE_HOST_DEVICE T operator()(T g, T x) const { return x >= lo && x <= hi ? g : T(0); }
};
template <class T>
struct Scale {
  T factor;
  REPRISE_HOST_DEVICE T operator()(T x) const { return x * factor; }
};
/// keep * a + (1 - keep) * b, with both weights given.
template <class T>
struct Blend {
  T keep, take;
  REPRISE_HOST_DEVICE T operator()(T a, T b) const { return keep * a + take * b; }
};

// ---- gradients; x is the operand, y the result
REPRISE_FUNCTOR(AbsGrad, (T g, T x), return x > T(0) ? g : (x < T(0) ? -g : T(0)))
REPRISE_FUNCTOR(ExpGrad, (T g, T y), return g * y)
REPRISE_FUNCTOR(LogGrad, (T g, T x), return g / x)
REPRISE_FUNCTOR(SqrtGrad, (T g, T y), return T(0.5) * g / y)
REPRISE_FUNCTOR(SinGrad, (T g, T x), return g * std::cos(x))
REPRISE_FUNCTOR(CosGrad, (T g, T x), return -g * std::sin(x))
REPRISE_FUNCTOR(TanhGrad, (T g, T y), return g * (T(1) - y * y))
REPRISE_FUNCTOR(SigmoidGrad, (T g, T y), return g * y * (T(1) - y))
REPRISE_FUNCTOR(ReluGrad, (T g, T y), return y > T(0) ? g : T(0))
struct GeluGrad {
  template <class T>
  REPRISE_HOST_DEVICE T operator()(T g, T x) const {
    T distribution = T(0.5) * (T(1) + std::erf(x * T(0.70710678118654752440)));
    T density = T(0.39894228040143267794) * math::exp(T(-0.5) * x * x);
    return g * (distribution + x * density);
  }
};
struct SiluGrad {
  template <class T>
  REPRISE_HOST_DEVICE T operator()(T g, T x) const {
    T s = math::sigmoid(x);
    return g * s * (T(1) + x * (T(1) - s));
  }
};

// ---- conditions; cond is 0 or not
REPRISE_FUNCTOR(Where, (T cond, T a, T b), return cond != T(0) ? a : b)
REPRISE_FUNCTOR(WhereGradA, (T g, T cond), return cond != T(0) ? g : T(0))
REPRISE_FUNCTOR(WhereGradB, (T g, T cond), return cond != T(0) ? T(0) : g)

#undef REPRISE_FUNCTOR

}  // namespace reprise::functors
