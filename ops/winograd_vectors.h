// Winograd's transforms F(4x4, 3x3) and the matrix products between them, in AVX-512 registers of 16 channels.
// Called by ops/winograd.cpp only, where the processor has AVX-512.
//
// Matrices A, B, G as in Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016), section 4.3: for a
// patch d of 6 x 6 pixels and a kernel g, the 4 x 4 pixels of their convolution are A^T [(G g G^T) . (B^T d B)] A.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>

#include <cstdint>

#include "ops/avx512.h"

#define REPRISE_WINOGRAD_INLINE REPRISE_AVX512 __attribute__((always_inline)) inline

namespace reprise::winograd {

constexpr int kLanes = 16;                // channels in a register
constexpr int kTile = 4, kPatch = 6;      // pixels along each axis: of a tile of the result, of what it is made from
constexpr int kPoints = kPatch * kPatch;  // numbers of a channel in a transformed patch, tile or kernel

using Vector = __m512;

/// B^T d, for a row or column d.
REPRISE_WINOGRAD_INLINE void transform_d(const Vector d[kPatch], Vector out[kPatch]) {
  const Vector two = _mm512_set1_ps(2), four = _mm512_set1_ps(4), five = _mm512_set1_ps(5);
  Vector even1 = _mm512_fnmadd_ps(four, d[2], d[4]), odd1 = _mm512_fnmadd_ps(four, d[1], d[3]);
  Vector even2 = _mm512_sub_ps(d[4], d[2]), odd2 = _mm512_mul_ps(two, _mm512_sub_ps(d[3], d[1]));
  out[0] = _mm512_fmadd_ps(four, d[0], _mm512_fnmadd_ps(five, d[2], d[4]));
  out[1] = _mm512_add_ps(even1, odd1);
  out[2] = _mm512_sub_ps(even1, odd1);
  out[3] = _mm512_add_ps(even2, odd2);
  out[4] = _mm512_sub_ps(even2, odd2);
  out[5] = _mm512_fmadd_ps(four, d[1], _mm512_fnmadd_ps(five, d[3], d[5]));
}

/// A^T m.
REPRISE_WINOGRAD_INLINE void transform_m(const Vector m[kPatch], Vector out[kTile]) {
  const Vector two = _mm512_set1_ps(2), four = _mm512_set1_ps(4), eight = _mm512_set1_ps(8);
  Vector sum1 = _mm512_add_ps(m[1], m[2]), difference1 = _mm512_sub_ps(m[1], m[2]);
  Vector sum2 = _mm512_add_ps(m[3], m[4]), difference2 = _mm512_sub_ps(m[3], m[4]);
  out[0] = _mm512_add_ps(_mm512_add_ps(m[0], sum1), sum2);
  out[1] = _mm512_fmadd_ps(two, difference2, difference1);
  out[2] = _mm512_fmadd_ps(four, sum2, sum1);
  out[3] = _mm512_add_ps(_mm512_fmadd_ps(eight, difference2, difference1), m[5]);
}

/// A y, for the gradient of a tile.
REPRISE_WINOGRAD_INLINE void transform_y(const Vector y[kTile], Vector out[kPatch]) {
  const Vector two = _mm512_set1_ps(2), four = _mm512_set1_ps(4), eight = _mm512_set1_ps(8);
  Vector even1 = _mm512_add_ps(y[0], y[2]), odd1 = _mm512_add_ps(y[1], y[3]);
  Vector even2 = _mm512_fmadd_ps(four, y[2], y[0]), odd2 = _mm512_fmadd_ps(eight, y[3], _mm512_mul_ps(two, y[1]));
  out[0] = y[0];
  out[1] = _mm512_add_ps(even1, odd1);
  out[2] = _mm512_sub_ps(even1, odd1);
  out[3] = _mm512_add_ps(even2, odd2);
  out[4] = _mm512_sub_ps(even2, odd2);
  out[5] = y[3];
}

/// G g.
REPRISE_WINOGRAD_INLINE void transform_g(const Vector g[3], Vector out[kPatch]) {
  const Vector sixth = _mm512_set1_ps(1.0f / 6), small = _mm512_set1_ps(1.0f / 24);
  Vector ends = _mm512_mul_ps(sixth, _mm512_add_ps(g[0], g[2])), middle = _mm512_mul_ps(sixth, g[1]);
  Vector far = _mm512_fmadd_ps(small, g[0], _mm512_mul_ps(sixth, g[2]));
  Vector near = _mm512_mul_ps(_mm512_set1_ps(1.0f / 12), g[1]);
  out[0] = _mm512_mul_ps(_mm512_set1_ps(1.0f / 4), g[0]);
  out[1] = _mm512_sub_ps(_mm512_setzero_ps(), _mm512_add_ps(ends, middle));
  out[2] = _mm512_sub_ps(middle, ends);
  out[3] = _mm512_add_ps(far, near);
  out[4] = _mm512_sub_ps(far, near);
  out[5] = g[2];
}

/// G^T s, for the gradient of a kernel.
REPRISE_WINOGRAD_INLINE void transform_s(const Vector s[kPatch], Vector out[3]) {
  const Vector sixth = _mm512_set1_ps(1.0f / 6), small = _mm512_set1_ps(1.0f / 24);
  Vector inner = _mm512_add_ps(s[1], s[2]), outer = _mm512_add_ps(s[3], s[4]);
  Vector slope = _mm512_mul_ps(_mm512_set1_ps(1.0f / 12), _mm512_sub_ps(s[3], s[4]));
  out[0] = _mm512_fmadd_ps(_mm512_set1_ps(1.0f / 4), s[0], _mm512_fnmadd_ps(sixth, inner, _mm512_mul_ps(small, outer)));
  out[1] = _mm512_fmadd_ps(sixth, _mm512_sub_ps(s[2], s[1]), slope);
  out[2] = _mm512_fmadd_ps(sixth, _mm512_sub_ps(outer, inner), s[5]);
}

// Where a transform reads and writes one register of channels. Pixels are found by strides where all of them lie inside
// the image, else each has its own place.

struct PixelsInside {
  const float* first;
  std::int64_t row, pixel;  // distances in numbers
  REPRISE_WINOGRAD_INLINE Vector operator()(int i, int j) const { return _mm512_loadu_ps(first + i * row + j * pixel); }
};

template <int kSide>
struct PixelsPlaced {
  const float* const* pixels;  // kSide squared
  std::int64_t channel;
  REPRISE_WINOGRAD_INLINE Vector operator()(int i, int j) const {
    return _mm512_loadu_ps(pixels[i * kSide + j] + channel);
  }
};

struct PointsIn {
  const float* first;
  std::int64_t stride;
  REPRISE_WINOGRAD_INLINE Vector operator()(int i, int j) const {
    return _mm512_loadu_ps(first + (i * kPatch + j) * stride);
  }
};

struct PointsOut {
  float* first;
  std::int64_t stride;
  REPRISE_WINOGRAD_INLINE void operator()(int i, int j, Vector value) const {
    _mm512_storeu_ps(first + (i * kPatch + j) * stride, value);
  }
};

template <bool kAdd>
REPRISE_WINOGRAD_INLINE void store_pixel(float* to, Vector value, Vector bias) {
  value = _mm512_add_ps(value, bias);
  _mm512_storeu_ps(to, kAdd ? _mm512_add_ps(_mm512_loadu_ps(to), value) : value);
}

template <bool kAdd>
struct TileInside {
  float* first;
  std::int64_t row, pixel;
  Vector bias;
  REPRISE_WINOGRAD_INLINE void operator()(int i, int j, Vector value) const {
    store_pixel<kAdd>(first + i * row + j * pixel, value, bias);
  }
};

/// Pixels outside of the image are null.
template <bool kAdd>
struct TilePlaced {
  float* const* pixels;
  std::int64_t channel;
  Vector bias;
  REPRISE_WINOGRAD_INLINE void operator()(int i, int j, Vector value) const {
    if (pixels[i * kTile + j]) store_pixel<kAdd>(pixels[i * kTile + j] + channel, value, bias);
  }
};

/// Nine numbers of each of 16 kernels.
struct KernelIn {
  const float* numbers;
  REPRISE_WINOGRAD_INLINE Vector operator()(int i, int j) const {
    return _mm512_loadu_ps(numbers + (i * 3 + j) * kLanes);
  }
};

struct KernelOut {
  float* numbers;
  REPRISE_WINOGRAD_INLINE void operator()(int i, int j, Vector value) const {
    _mm512_storeu_ps(numbers + (i * 3 + j) * kLanes, value);
  }
};

/// Rows [kFirst, kFirst + kCount) of what transform() makes.
template <int kIn, int kOut, int kFirst, int kCount, void (*kTransform)(const Vector*, Vector*), class Load,
          class Store>
REPRISE_WINOGRAD_INLINE void transform_rows(const Load& load, const Store& store) {
  Vector half[kCount][kIn];
  for (int j = 0; j < kIn; ++j) {
    Vector column[kIn], made[kOut];
    for (int i = 0; i < kIn; ++i) column[i] = load(i, j);
    kTransform(column, made);
    for (int i = 0; i < kCount; ++i) half[i][j] = made[kFirst + i];
  }
  for (int i = 0; i < kCount; ++i) {
    Vector made[kOut];
    kTransform(half[i], made);
    for (int j = 0; j < kOut; ++j) store(kFirst + i, j, made[j]);
  }
}

/// Both axes: first the columns of kIn squared registers, then the rows of what that gives. What lies between would not
/// fit into 32 registers for a patch: it is made by halves, since loading twice costs less than storing in between.
template <int kIn, int kOut, void (*kTransform)(const Vector*, Vector*), class Load, class Store>
REPRISE_WINOGRAD_INLINE void transform(const Load& load, const Store& store) {
  if constexpr (kIn * kOut > 24) {
    transform_rows<kIn, kOut, 0, kOut / 2, kTransform>(load, store);
    transform_rows<kIn, kOut, kOut / 2, kOut - kOut / 2, kTransform>(load, store);
  } else {
    transform_rows<kIn, kOut, 0, kOut, kTransform>(load, store);
  }
}

/// Sums over k of a(r, k) b[k][.], for kRows rows r and kVectors registers of columns. a(r, k) stands at
/// a[r * row + k * step]. kAdd: added to what c holds, which keeps more digits than a sum that starts from there.
template <int kRows, int kVectors, bool kAdd>
REPRISE_WINOGRAD_INLINE void multiply(std::int64_t depth, const float* a, std::int64_t row, std::int64_t step,
                                      const float* b, std::int64_t ldb, float* c, std::int64_t ldc) {
  Vector sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_setzero_ps();
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    Vector right[kVectors];
    for (int v = 0; v < kVectors; ++v) right[v] = _mm512_loadu_ps(b + k * ldb + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Vector left = _mm512_set1_ps(a[r * row + k * step]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_fmadd_ps(left, right[v], sum[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      float* to = c + r * ldc + v * kLanes;
      _mm512_storeu_ps(to, kAdd ? _mm512_add_ps(_mm512_loadu_ps(to), sum[r][v]) : sum[r][v]);
    }
  }
}

}  // namespace reprise::winograd
#endif
