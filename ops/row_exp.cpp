#include "ops/row_exp.h"

#include "ops/implementation.h"
#include "ops/row_sums.h"
#include "ops/vector_math.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)  // clang 14 cannot ask the processor for a level
#define REPRISE_WIDE_BUILD 1
#define REPRISE_WIDE __attribute__((target("arch=x86-64-v4")))
#endif

namespace reprise {
namespace {

template <class T>
[[gnu::always_inline]] inline T sum_body(const T* x, std::int64_t n, T shift) {
  return row_sum<T>(
      n, [&](std::int64_t i) __attribute__((always_inline)) { return math::exp(x[i] - shift); });
}

template <class T>
[[gnu::always_inline]] inline T in_place_body(T* x, std::int64_t n, T shift) {
  return row_sum<T>(
      n, [&](std::int64_t i) __attribute__((always_inline)) { return x[i] = math::exp(x[i] - shift); });
}

template <class T>
[[gnu::always_inline]] inline void scaled_body(const T* x, std::int64_t n, T shift, T scale, T* to, bool accumulate) {
  if (accumulate) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) to[i] += math::exp(x[i] - shift) * scale;
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) to[i] = math::exp(x[i] - shift) * scale;
  }
}

#if defined(REPRISE_WIDE_BUILD)

bool is_wide() {
  static const bool answer = __builtin_cpu_supports("x86-64-v4");
  return answer && !PortableOnly::active();
}

REPRISE_WIDE float wide_sum(const float* x, std::int64_t n, float shift) { return sum_body(x, n, shift); }
REPRISE_WIDE float wide_in_place(float* x, std::int64_t n, float shift) { return in_place_body(x, n, shift); }
REPRISE_WIDE void wide_scaled(const float* x, std::int64_t n, float shift, float scale, float* to, bool accumulate) {
  scaled_body(x, n, shift, scale, to, accumulate);
}

#else

bool is_wide() { return false; }
float wide_sum(const float* x, std::int64_t n, float shift) { return sum_body(x, n, shift); }
float wide_in_place(float* x, std::int64_t n, float shift) { return in_place_body(x, n, shift); }
void wide_scaled(const float* x, std::int64_t n, float shift, float scale, float* to, bool accumulate) {
  scaled_body(x, n, shift, scale, to, accumulate);
}

#endif

}  // namespace

template <>
float exp_sum(const float* x, std::int64_t n, float shift) {
  return is_wide() ? wide_sum(x, n, shift) : sum_body(x, n, shift);
}
template <>
double exp_sum(const double* x, std::int64_t n, double shift) {
  return sum_body(x, n, shift);
}

template <>
float exp_sum_in_place(float* x, std::int64_t n, float shift) {
  return is_wide() ? wide_in_place(x, n, shift) : in_place_body(x, n, shift);
}
template <>
double exp_sum_in_place(double* x, std::int64_t n, double shift) {
  return in_place_body(x, n, shift);
}

template <>
void exp_scaled(const float* x, std::int64_t n, float shift, float scale, float* to, bool accumulate) {
  if (is_wide())
    wide_scaled(x, n, shift, scale, to, accumulate);
  else
    scaled_body(x, n, shift, scale, to, accumulate);
}
template <>
void exp_scaled(const double* x, std::int64_t n, double shift, double scale, double* to, bool accumulate) {
  scaled_body(x, n, shift, scale, to, accumulate);
}

}  // namespace reprise
