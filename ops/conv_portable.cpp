#include "ops/conv_portable.h"

#include <algorithm>

#include "core/allocator.h"
#include "core/parallel.h"
#include "ops/gemm.h"

namespace reprise::portable {
namespace {

constexpr std::int64_t kBlocks = 16;  // at most: each has a patch matrix and, in the weight gradient, sums of its own

// Sizes of one group's matrices: a patch row holds kh * kw runs of `in` channels, in that order.
struct Sizes {
  std::int64_t blocks, images_per_block, positions, in, out, patch, weights;

  explicit Sizes(const ConvGeometry& g)
      : blocks(std::max<std::int64_t>(1, std::min(kBlocks, g.n))),
        images_per_block((g.n + blocks - 1) / blocks),
        positions(g.oh * g.ow),
        in(g.in / g.groups),
        out(g.out / g.groups),
        patch(g.kh * g.kw * in),
        weights(g.groups * patch * out) {
    blocks = images_per_block > 0 ? (g.n + images_per_block - 1) / images_per_block : 0;
  }
};

// Where the workspace holds what: the weight as [group][kh, kw, in][out], then per block a patch matrix and a sum.
template <class T>
struct Places {
  T* weight;
  T* patches;
  T* sums;

  Places(const Sizes& s, std::byte* workspace) {
    auto rounded = [](std::int64_t count) { return round_up_64(count * static_cast<std::int64_t>(sizeof(T))); };
    weight = reinterpret_cast<T*>(workspace);
    patches = reinterpret_cast<T*>(workspace + rounded(s.weights));
    sums = reinterpret_cast<T*>(workspace + rounded(s.weights) + rounded(s.blocks * s.positions * s.patch));
  }
};

// Calls visit(index in OIHW, index in [group][kh, kw, in][out]) for each weight.
template <class Visit>
void for_each_weight(const ConvGeometry& g, const Sizes& s, Visit&& visit) {
  for (std::int64_t o = 0; o < g.out; ++o) {
    std::int64_t group = o / s.out, within = o % s.out;
    for (std::int64_t i = 0; i < s.in; ++i) {
      for (std::int64_t k = 0; k < g.kh * g.kw; ++k) {
        visit((o * s.in + i) * g.kh * g.kw + k, group * s.patch * s.out + (k * s.in + i) * s.out + within);
      }
    }
  }
}

// Calls visit(patch offset, image offset or -1 where the window lies over padding) for each run of `in` channels.
template <class Visit>
void for_each_run(const ConvGeometry& g, const Sizes& s, std::int64_t group, Visit&& visit) {
  std::int64_t at = 0;
  for (std::int64_t oy = 0; oy < g.oh; ++oy) {
    for (std::int64_t ox = 0; ox < g.ow; ++ox) {
      for (std::int64_t ky = 0; ky < g.kh; ++ky) {
        std::int64_t iy = oy * g.stride.h - g.padding.h + ky * g.dilation.h;
        for (std::int64_t kx = 0; kx < g.kw; ++kx, at += s.in) {
          std::int64_t ix = ox * g.stride.w - g.padding.w + kx * g.dilation.w;
          bool inside = iy >= 0 && iy < g.h && ix >= 0 && ix < g.w;
          visit(at, inside ? (iy * g.w + ix) * g.in + group * s.in : std::int64_t{-1});
        }
      }
    }
  }
}

template <class T>
void gather_patches(const ConvGeometry& g, const Sizes& s, std::int64_t group, const T* image, T* patches) {
  for_each_run(g, s, group, [&](std::int64_t at, std::int64_t from) {
    if (from < 0)
      std::fill(patches + at, patches + at + s.in, T(0));
    else
      std::copy(image + from, image + from + s.in, patches + at);
  });
}

// Calls body(block, image, group) for all images, blocks in parallel.
template <class Body>
void for_each_image(const ConvGeometry& g, const Sizes& s, Body&& body) {
  parallel_blocks(g.n, std::max<std::int64_t>(1, s.images_per_block), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t image = begin; image < end; ++image) {
      for (std::int64_t group = 0; group < g.groups; ++group) body(begin / s.images_per_block, image, group);
    }
  });
}

}  // namespace

std::int64_t conv_workspace(const ConvGeometry& g, ConvPass pass, std::int64_t item_bytes) {
  Sizes s(g);
  std::int64_t bytes = round_up_64(s.weights * item_bytes) + round_up_64(s.blocks * s.positions * s.patch * item_bytes);
  return pass == ConvPass::backward_weights ? bytes + s.blocks * s.weights * item_bytes : bytes;
}

template <class T>
void conv_forward(const ConvGeometry& g, const T* x, const T* weight, const T* bias, T* y, std::byte* workspace) {
  Sizes s(g);
  Places<T> places(s, workspace);
  for_each_weight(g, s, [&](std::int64_t from, std::int64_t to) { places.weight[to] = weight[from]; });
  for_each_image(g, s, [&](std::int64_t block, std::int64_t image, std::int64_t group) {
    T* patches = places.patches + block * s.positions * s.patch;
    gather_patches(g, s, group, x + image * g.h * g.w * g.in, patches);
    T* result = y + image * s.positions * g.out + group * s.out;
    for (std::int64_t p = 0; p < s.positions; ++p) {
      for (std::int64_t o = 0; o < s.out; ++o) result[p * g.out + o] = bias ? bias[group * s.out + o] : T(0);
    }
    gemm_serial(GemmCall<T>{.m = s.positions,
                            .n = s.out,
                            .k = s.patch,
                            .a = patches,
                            .lda = s.patch,
                            .b = places.weight + group * s.patch * s.out,
                            .ldb = s.out,
                            .beta = T(1),
                            .c = result,
                            .ldc = g.out});
  });
}

template <class T>
void conv_backward_data(const ConvGeometry& g, const T* dy, const T* weight, T* dx, bool accumulate,
                        std::byte* workspace) {
  Sizes s(g);
  Places<T> places(s, workspace);
  for_each_weight(g, s, [&](std::int64_t from, std::int64_t to) { places.weight[to] = weight[from]; });
  for_each_image(g, s, [&](std::int64_t block, std::int64_t image, std::int64_t group) {
    T* patches = places.patches + block * s.positions * s.patch;
    gemm_serial(GemmCall<T>{.transpose_b = true,
                            .m = s.positions,
                            .n = s.patch,
                            .k = s.out,
                            .a = dy + image * s.positions * g.out + group * s.out,
                            .lda = g.out,
                            .b = places.weight + group * s.patch * s.out,
                            .ldb = s.out,
                            .c = patches,
                            .ldc = s.patch});
    T* target = dx + image * g.h * g.w * g.in;
    if (!accumulate && group == 0) std::fill(target, target + g.h * g.w * g.in, T(0));
    for_each_run(g, s, group, [&](std::int64_t at, std::int64_t to) {
      if (to < 0) return;
      for (std::int64_t i = 0; i < s.in; ++i) target[to + i] += patches[at + i];
    });
  });
}

template <class T>
void conv_backward_weights(const ConvGeometry& g, const T* x, const T* dy, T* dw, bool accumulate,
                           std::byte* workspace) {
  Sizes s(g);
  Places<T> places(s, workspace);
  for_each_image(g, s, [&](std::int64_t block, std::int64_t image, std::int64_t group) {
    T* patches = places.patches + block * s.positions * s.patch;
    gather_patches(g, s, group, x + image * g.h * g.w * g.in, patches);
    bool first = image == block * s.images_per_block;
    gemm_serial(GemmCall<T>{.transpose_a = true,
                            .m = s.patch,
                            .n = s.out,
                            .k = s.positions,
                            .a = patches,
                            .lda = s.patch,
                            .b = dy + image * s.positions * g.out + group * s.out,
                            .ldb = g.out,
                            .beta = first ? T(0) : T(1),
                            .c = places.sums + block * s.weights + group * s.patch * s.out,
                            .ldc = s.out});
  });
  for_each_weight(g, s, [&](std::int64_t to, std::int64_t from) {
    T sum = accumulate ? dw[to] : T(0);
    for (std::int64_t block = 0; block < s.blocks; ++block) sum += places.sums[block * s.weights + from];
    dw[to] = sum;
  });
}

#define REPRISE_INSTANTIATE(T)                                                                        \
  template void conv_forward<T>(const ConvGeometry&, const T*, const T*, const T*, T*, std::byte*);   \
  template void conv_backward_data<T>(const ConvGeometry&, const T*, const T*, T*, bool, std::byte*); \
  template void conv_backward_weights<T>(const ConvGeometry&, const T*, const T*, T*, bool, std::byte*);
REPRISE_INSTANTIATE(float)
REPRISE_INSTANTIATE(double)
#undef REPRISE_INSTANTIATE

}  // namespace reprise::portable
