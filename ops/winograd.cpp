#include "ops/winograd.h"

#include <algorithm>

#include "core/allocator.h"
#include "core/error.h"
#include "core/parallel.h"
#include "ops/winograd_vectors.h"

namespace reprise::winograd {

#if defined(__AVX2__)

namespace {

// Tiles from which on transforming the kernels is paid for by the products that it saves (measured: some 12).
constexpr std::int64_t kFewestTiles = 24;

// Rows that one pass over a transformed kernel serves; tiles are taken in multiples of it. By 2 registers of columns,
// or half as many rows by 4, these are 24 sums, which with their factors fit into 32 registers.
constexpr std::int64_t kRowsAtOnce = 12;

// Channels that are summed at once. Sums of such sums keep more digits than one long sum: the error of 512 channels
// stays near that of 64.
constexpr std::int64_t kDepth = 64;

// Input channels whose kernels a thread transforms at once.
constexpr std::int64_t kKernelsAtOnce = 8;

// How many tiles are transformed, multiplied and transformed back at once. Measured: they stay in the second-level
// cache; where the kernels alone do not fit there, more tiles share the reading of them.
std::int64_t tiles_at_once(std::int64_t k, std::int64_t n) {
  if (k * n > 256 * 256) return 8 * kRowsAtOnce;
  if (k * n > 128 * 128) return 4 * kRowsAtOnce;
  return k + n <= 32 ? 4 * kRowsAtOnce : 2 * kRowsAtOnce;
}

/// The sizes of a pass as a product: for each of 36 points, [tiles x k] by [k x n].
struct Sizes {
  std::int64_t images, h, w;  // of the activations that tiles cover
  std::int64_t k, n;          // channels in and out
  std::int64_t rows, columns, tiles;
  std::int64_t block;   // tiles that are transformed, multiplied and transformed back at once
  std::int64_t shares;  // of the tiles, one a thread

  Sizes(const ConvGeometry& g, ConvPass pass)
      : images(g.n),
        h(g.h),
        w(g.w),
        k(pass == ConvPass::backward_data ? g.out : g.in),
        n(pass == ConvPass::backward_data ? g.in : g.out),
        rows((h + kTile - 1) / kTile),
        columns((w + kTile - 1) / kTile),
        tiles(images * rows * columns),
        block(tiles_at_once(k, n)),
        shares(thread_count()) {}

  std::int64_t kernel() const { return kPoints * k * n; }
  /// Tiles of a share, whole blocks.
  std::int64_t share() const { return ((tiles + shares - 1) / shares + block - 1) / block * block; }
};

/// Where the workspace holds what; all in floats, `left` and `right` once for each share.
struct Buffers {
  float *zeros, *kernel, *left, *right;
  std::int64_t left_size, right_size;

  Buffers(const Sizes& s, std::byte* workspace)
      : left_size(kPoints * s.block * s.k), right_size(kPoints * s.block * s.n) {
    zeros = reinterpret_cast<float*>(workspace);
    kernel = zeros + std::max(s.k, s.n);
    left = kernel + s.kernel();
    right = left + s.shares * left_size;
  }
};

/// Floats of the workspace: of all shares together, and of one.
std::int64_t common_size(const Sizes& s) { return std::max(s.k, s.n) + s.kernel(); }
std::int64_t share_size(const Sizes& s) { return kPoints * s.block * (s.k + s.n); }

/// The sizes of a call with this workspace. It was measured when the call was recorded, when there may have been fewer
/// threads.
Sizes sizes_of(const ConvGeometry& g, ConvPass pass, std::span<std::byte> workspace) {
  Sizes s(g, pass);
  auto floats = static_cast<std::int64_t>(workspace.size() / sizeof(float));
  s.shares = std::min(s.shares, (floats - common_size(s)) / share_size(s));
  REPRISE_INVARIANT(s.shares > 0);
  return s;
}

/// One tile of the batch: its image and its first pixel.
struct Tile {
  std::int64_t image, y, x;
  Tile(const Sizes& s, std::int64_t index)
      : image(index / (s.rows * s.columns)), y(index / s.columns % s.rows * kTile), x(index % s.columns * kTile) {}
  void next(const Sizes& s) {
    x += kTile;
    if (x < s.w) return;
    x = 0;
    y += kTile;
    if (y < s.h) return;
    y = 0;
    ++image;
  }
};

/// The places of the pixels [y, y + kSide) x [x, x + kSide) of an image; `outside` for those that it has not.
template <int kSide, class T>
void place(const Sizes& s, T* image, std::int64_t channels, std::int64_t y, std::int64_t x, T* outside, T** places) {
  for (int i = 0; i < kSide; ++i) {
    bool row = y + i >= 0 && y + i < s.h;
    for (int j = 0; j < kSide; ++j) {
      bool inside = row && x + j >= 0 && x + j < s.w;
      places[i * kSide + j] = inside ? image + ((y + i) * s.w + x + j) * channels : outside;
    }
  }
}

/// A tile's kSide squared pixels from (y, x) on, transformed into out[point * stride + channel].
template <int kSide, void (*kTransform)(const Vector*, Vector*)>
REPRISE_AVX512 void transform_pixels(const Sizes& s, const float* image, std::int64_t channels, std::int64_t y,
                                     std::int64_t x, const float* zeros, float* out, std::int64_t stride) {
  if (y >= 0 && x >= 0 && y + kSide <= s.h && x + kSide <= s.w) {
    const float* first = image + (y * s.w + x) * channels;
    for (std::int64_t c = 0; c < channels; c += kLanes) {
      transform<kSide, kPatch, kTransform>(PixelsInside{first + c, s.w * channels, channels},
                                           PointsOut{out + c, stride});
    }
    return;
  }
  const float* places[kSide * kSide];
  place<kSide>(s, image, channels, y, x, zeros, places);
  for (std::int64_t c = 0; c < channels; c += kLanes) {
    transform<kSide, kPatch, kTransform>(PixelsPlaced<kSide>{places, c}, PointsOut{out + c, stride});
  }
}

/// The products at in[point * stride + channel], transformed back into the pixels of a tile.
template <bool kAdd>
REPRISE_AVX512 void transform_back(const Sizes& s, const Tile& tile, const float* in, std::int64_t stride,
                                   const float* bias, float* y) {
  float* image = y + tile.image * s.h * s.w * s.n;
  bool inside = tile.y + kTile <= s.h && tile.x + kTile <= s.w;
  float* first = image + (tile.y * s.w + tile.x) * s.n;
  float* places[kTile * kTile];
  if (!inside) place<kTile, float>(s, image, s.n, tile.y, tile.x, nullptr, places);
  for (std::int64_t c = 0; c < s.n; c += kLanes) {
    Vector shift = bias ? _mm512_loadu_ps(bias + c) : _mm512_setzero_ps();
    PointsIn points{in + c, stride};
    if (inside)
      transform<kPatch, kTile, transform_m>(points, TileInside<kAdd>{first + c, s.w * s.n, s.n, shift});
    else
      transform<kPatch, kTile, transform_m>(points, TilePlaced<kAdd>{places, c, shift});
  }
}

/// One vector of kernels [out, in, 3, 3], transformed.
REPRISE_AVX512 void transform_kernel(const Sizes& s, const float* weight, bool turned, std::int64_t k, std::int64_t n,
                                     float* out) {
  alignas(64) float numbers[9 * kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const float* kernel = weight + 9 * (turned ? k * s.n + n + lane : (n + lane) * s.k + k);
    for (int i = 0; i < 9; ++i) numbers[i * kLanes + lane] = kernel[turned ? 8 - i : i];
  }
  transform<3, kPatch, transform_g>(KernelIn{numbers}, PointsOut{out + k * s.n + n, s.k * s.n});
}

/// Calls fn(k, n) for all k and each vector of n, on all threads. A few k at a time: kernels of neighbouring k lie side
/// by side, transformed numbers of neighbouring n do.
template <class Fn>
void for_each_kernel(const Sizes& s, Fn&& fn) {
  parallel_blocks(s.k, kKernelsAtOnce, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = 0; n < s.n; n += kLanes) {
      for (std::int64_t k = begin; k < end; ++k) fn(k, n);
    }
  });
}

/// Kernels [out, in, 3, 3] transformed into [point][k][n]; turned round and with channels exchanged for gradients of x.
void transform_kernels(const Sizes& s, const float* weight, bool turned, float* out) {
  for_each_kernel(s, [&](std::int64_t k, std::int64_t n) { transform_kernel(s, weight, turned, k, n, out); });
}

/// c[tile][n] (+)= a[tile][k] b[k][n] for `tiles` rows, `depth` numbers of k.
template <bool kAdd>
REPRISE_AVX512 void multiply_point(const Sizes& s, std::int64_t tiles, std::int64_t depth, const float* a,
                                   const float* b, float* c) {
  std::int64_t n = 0;
  for (; n + 4 * kLanes <= s.n; n += 4 * kLanes) {
    for (std::int64_t t = 0; t < tiles; t += kRowsAtOnce / 2)
      multiply<kRowsAtOnce / 2, 4, kAdd>(depth, a + t * s.k, s.k, 1, b + n, s.n, c + t * s.n + n, s.n);
  }
  for (; n + 2 * kLanes <= s.n; n += 2 * kLanes) {
    for (std::int64_t t = 0; t < tiles; t += kRowsAtOnce)
      multiply<kRowsAtOnce, 2, kAdd>(depth, a + t * s.k, s.k, 1, b + n, s.n, c + t * s.n + n, s.n);
  }
  for (; n < s.n; n += kLanes) {
    for (std::int64_t t = 0; t < tiles; t += kRowsAtOnce)
      multiply<kRowsAtOnce, 1, kAdd>(depth, a + t * s.k, s.k, 1, b + n, s.n, c + t * s.n + n, s.n);
  }
}

/// right[point][tile][n] = left[point][tile][k] kernel[point][k][n], for the first `tiles` of a block and some points.
void multiply_tiles(const Sizes& s, std::int64_t tiles, std::int64_t first_point, std::int64_t end_point,
                    const float* left, const float* kernel, float* right) {
  for (std::int64_t point = first_point; point < end_point; ++point) {
    const float *a = left + point * s.block * s.k, *b = kernel + point * s.k * s.n;
    float* c = right + point * s.block * s.n;
    multiply_point<false>(s, tiles, std::min(s.k, kDepth), a, b, c);
    for (std::int64_t k = kDepth; k < s.k; k += kDepth)
      multiply_point<true>(s, tiles, std::min(s.k - k, kDepth), a + k, b + k * s.n, c);
  }
}

/// Tiles [begin, end) of x, transformed into left[point][tile from `first` on][k].
void transform_tiles(const Sizes& s, const float* x, std::int64_t first, std::int64_t begin, std::int64_t end,
                     const float* zeros, float* left) {
  Tile tile(s, begin);
  for (std::int64_t t = begin; t < end; ++t, tile.next(s)) {
    transform_pixels<kPatch, transform_d>(s, x + tile.image * s.h * s.w * s.k, s.k, tile.y - 1, tile.x - 1, zeros,
                                          left + (t - first) * s.k, s.block * s.k);
  }
}

/// The way back, into y.
template <bool kAdd>
void finish_tiles(const Sizes& s, const float* right, std::int64_t first, std::int64_t begin, std::int64_t end,
                  const float* bias, float* y) {
  Tile tile(s, begin);
  for (std::int64_t t = begin; t < end; ++t, tile.next(s))
    transform_back<kAdd>(s, tile, right + (t - first) * s.n, s.block * s.n, bias, y);
}

/// All tiles in one block: threads share them, then the points, so that each reads a part of the kernels, then the
/// tiles.
template <bool kAdd>
void convolve_few(const Sizes& s, const Buffers& b, const float* x, const float* bias, float* y) {
  std::int64_t tiles = (s.tiles + s.shares - 1) / s.shares, points = (kPoints + s.shares - 1) / s.shares;
  parallel_blocks(s.tiles, tiles,
                  [&](std::int64_t begin, std::int64_t end) { transform_tiles(s, x, 0, begin, end, b.zeros, b.left); });
  parallel_blocks(kPoints, points, [&](std::int64_t begin, std::int64_t end) {
    multiply_tiles(s, s.tiles, begin, end, b.left, b.kernel, b.right);
  });
  parallel_blocks(s.tiles, tiles, [&](std::int64_t begin, std::int64_t end) {
    finish_tiles<kAdd>(s, b.right, 0, begin, end, bias, y);
  });
}

/// y = x convolved with the kernels that the buffers hold transformed; every tile by itself.
template <bool kAdd>
void convolve(const Sizes& s, const Buffers& buffers, const float* x, const float* bias, float* y) {
  std::fill(buffers.zeros, buffers.zeros + s.k, 0.0f);
  if (s.tiles <= s.block) return convolve_few<kAdd>(s, buffers, x, bias, y);
  parallel_blocks(s.tiles, s.share(), [&](std::int64_t begin, std::int64_t end) {
    std::int64_t share = begin / s.share();
    float *left = buffers.left + share * buffers.left_size, *right = buffers.right + share * buffers.right_size;
    for (std::int64_t first = begin; first < end; first += s.block) {
      std::int64_t tiles = std::min(s.block, end - first);
      transform_tiles(s, x, first, first, first + tiles, buffers.zeros, left);
      // Rows behind the last tile are what the workspace held: their products are not read.
      multiply_tiles(s, tiles, 0, kPoints, left, buffers.kernel, right);
      finish_tiles<kAdd>(s, right, first, first, first + tiles, bias, y);
    }
  });
}

/// sums[k][n] (+)= left[tile][k] right[tile][n] over `tiles` tiles, at one point.
template <bool kAdd>
REPRISE_AVX512 void add_products(const Sizes& s, std::int64_t tiles, const float* left, const float* right,
                                 float* sums) {
  std::int64_t n = 0;
  for (; n + 4 * kLanes <= s.n; n += 4 * kLanes) {
    for (std::int64_t k = 0; k < s.k; k += 4)
      multiply<4, 4, kAdd>(tiles, left + k, 1, s.k, right + n, s.n, sums + k * s.n + n, s.n);
  }
  for (; n + 2 * kLanes <= s.n; n += 2 * kLanes) {
    for (std::int64_t k = 0; k < s.k; k += 8)
      multiply<8, 2, kAdd>(tiles, left + k, 1, s.k, right + n, s.n, sums + k * s.n + n, s.n);
  }
  for (; n < s.n; n += kLanes) {
    for (std::int64_t k = 0; k < s.k; k += 16)
      multiply<16, 1, kAdd>(tiles, left + k, 1, s.k, right + n, s.n, sums + k * s.n + n, s.n);
  }
}

/// The sums of a vector of kernels at all points, transformed back into their gradient.
REPRISE_AVX512 void transform_sum(const Sizes& s, const float* sums, std::int64_t k, std::int64_t n, float* dw,
                                  bool accumulate) {
  alignas(64) float numbers[9 * kLanes];
  transform<kPatch, 3, transform_s>(PointsIn{sums + k * s.n + n, s.k * s.n}, KernelOut{numbers});
  for (int lane = 0; lane < kLanes; ++lane) {
    float* kernel = dw + 9 * ((n + lane) * s.k + k);
    for (int i = 0; i < 9; ++i) kernel[i] = numbers[i * kLanes + lane] + (accumulate ? kernel[i] : 0.0f);
  }
}

}  // namespace

const char* refusal(const ConvGeometry& g) {
  if (!has_avx512()) return "it needs AVX-512";
  if (g.kh != 3 || g.kw != 3) return "it takes 3x3 kernels only";
  if (g.stride != Pair(1) || g.dilation != Pair(1)) return "it takes stride 1 and dilation 1 only";
  if (g.padding != Pair(1)) return "it takes padding 1 only";
  if (g.groups != 1) return "it takes one group only";
  if (g.in % kLanes != 0 || g.out % kLanes != 0) return "it takes multiples of 16 channels";
  static_assert(kFewestTiles == 24, "the text below says so");
  if (Sizes(g, ConvPass::forward).tiles < kFewestTiles) return "it pays from 24 tiles of 4x4 pixels";
  return nullptr;
}

std::int64_t workspace(const ConvGeometry& g, ConvPass pass) {
  Sizes s(g, pass);
  return round_up_64((common_size(s) + s.shares * share_size(s)) * static_cast<std::int64_t>(sizeof(float)));
}

void forward(const ConvGeometry& g, const float* x, const float* weight, const float* bias, float* y,
             std::span<std::byte> workspace) {
  Sizes s = sizes_of(g, ConvPass::forward, workspace);
  Buffers buffers(s, workspace.data());
  transform_kernels(s, weight, false, buffers.kernel);
  convolve<false>(s, buffers, x, bias, y);
}

// The gradient of x is the convolution of dy with the kernels turned round.
void backward_data(const ConvGeometry& g, const float* dy, const float* weight, float* dx, bool accumulate,
                   std::span<std::byte> workspace) {
  Sizes s = sizes_of(g, ConvPass::backward_data, workspace);
  Buffers buffers(s, workspace.data());
  transform_kernels(s, weight, true, buffers.kernel);
  accumulate ? convolve<true>(s, buffers, dy, nullptr, dx) : convolve<false>(s, buffers, dy, nullptr, dx);
}

// Note: threads share the transforms of many tiles, then the 36 points, each of which sums over all tiles in their
// order, block by block: so the bits do not depend on the number of threads, and no thread needs sums of its own.
void backward_weights(const ConvGeometry& g, const float* x, const float* dy, float* dw, bool accumulate,
                      std::span<std::byte> workspace) {
  Sizes s = sizes_of(g, ConvPass::backward_weights, workspace);
  Buffers buffers(s, workspace.data());
  float* sums = buffers.kernel;
  std::fill(buffers.zeros, buffers.zeros + std::max(s.k, s.n), 0.0f);
  std::int64_t most = s.shares * s.block;  // tiles that both buffers hold
  for (std::int64_t first = 0; first < s.tiles; first += most) {
    std::int64_t tiles = std::min(most, s.tiles - first);
    parallel_blocks(tiles, s.block, [&](std::int64_t begin, std::int64_t end) {
      Tile tile(s, first + begin);
      for (std::int64_t t = begin; t < end; ++t, tile.next(s)) {
        transform_pixels<kPatch, transform_d>(s, x + tile.image * s.h * s.w * s.k, s.k, tile.y - 1, tile.x - 1,
                                              buffers.zeros, buffers.left + t * s.k, most * s.k);
        transform_pixels<kTile, transform_y>(s, dy + tile.image * s.h * s.w * s.n, s.n, tile.y, tile.x, buffers.zeros,
                                             buffers.right + t * s.n, most * s.n);
      }
    });
    parallel_blocks(kPoints, (kPoints + s.shares - 1) / s.shares, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t point = begin; point < end; ++point) {
        const float *left = buffers.left + point * most * s.k, *right = buffers.right + point * most * s.n;
        for (std::int64_t t = 0; t < tiles; t += s.block) {
          auto add = first + t == 0 ? add_products<false> : add_products<true>;
          add(s, std::min(s.block, tiles - t), left + t * s.k, right + t * s.n, sums + point * s.k * s.n);
        }
      }
    });
  }
  for_each_kernel(s, [&](std::int64_t k, std::int64_t n) { transform_sum(s, sums, k, n, dw, accumulate); });
}

#else

const char* refusal(const ConvGeometry&) { return "it is built for x86 processors only"; }
std::int64_t workspace(const ConvGeometry&, ConvPass) { return 0; }
void forward(const ConvGeometry&, const float*, const float*, const float*, float*, std::span<std::byte>) {
  REPRISE_INVARIANT(false);
}
void backward_data(const ConvGeometry&, const float*, const float*, float*, bool, std::span<std::byte>) {
  REPRISE_INVARIANT(false);
}
void backward_weights(const ConvGeometry&, const float*, const float*, float*, bool, std::span<std::byte>) {
  REPRISE_INVARIANT(false);
}

#endif

}  // namespace reprise::winograd
