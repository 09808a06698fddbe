#include "ops/batch_norm_kernels.h"

#include <algorithm>

#include "core/allocator.h"
#include "core/parallel.h"
#include "ops/column_sums.h"

namespace reprise::norm_kernels {
namespace {

constexpr std::int64_t kWidth = 128;   // narrow rows are taken several at once, so that inner loops are this long
constexpr std::int64_t kPiece = 8192;  // elements whose sums are taken in their own type

// Note: wide rows. Row-major [rows, channels] is also [rows / fold, fold * channels]: a loop over the wide row treats
// element i as channel i % channels. Per-channel numbers are repeated `fold` times beforehand, sums are folded after.
struct Layout {
  RowBlocks blocks;
  std::int64_t channels, fold, width, piece_rows;

  explicit Layout(const Sizes& s)
      : blocks(s.rows),
        channels(s.channels),
        fold(std::max<std::int64_t>(1, (kWidth + s.channels - 1) / std::max<std::int64_t>(1, s.channels))),
        width(fold * s.channels),
        piece_rows(std::max<std::int64_t>(4, kPiece / std::max<std::int64_t>(1, width)) * fold) {}

  std::int64_t block_of(std::int64_t row) const { return row / blocks.rows_per_block; }
};

template <class T>
void repeat(const Layout& layout, const T* from, T* to) {
  for (std::int64_t f = 0; f < layout.fold; ++f) std::copy(from, from + layout.channels, to + f * layout.channels);
}

// Scratch of one block: `doubles` rows of channels, then `wide` wide rows of T.
template <class T>
struct Scratch {
  static std::int64_t bytes(const Layout& layout, int doubles, int wide) {
    return round_up_64(doubles * layout.channels * 8) +
           wide * round_up_64(layout.width * static_cast<std::int64_t>(sizeof(T)));
  }
  double* sums;
  std::byte* wide_rows;
  std::int64_t wide_bytes, channels;

  Scratch(const Layout& layout, std::byte* base, int doubles)
      : sums(reinterpret_cast<double*>(base)),
        wide_rows(base + round_up_64(doubles * layout.channels * 8)),
        wide_bytes(round_up_64(layout.width * static_cast<std::int64_t>(sizeof(T)))),
        channels(layout.channels) {}
  double* doubles(int i) const { return sums + i * channels; }
  T* wide(int i) const { return reinterpret_cast<T*>(wide_rows + i * wide_bytes); }
};

// Calls body(first element, count) for the wide rows of elements [begin, end); the last may be short.
template <class Body>
inline void for_each_wide(const Layout& layout, std::int64_t begin, std::int64_t end, Body&& body) {
  for (std::int64_t at = begin; at < end; at += layout.width) body(at, std::min(layout.width, end - at));
}

/// Calls body.operator()<a, b>(): one instance of a loop for each case, so that the loop itself asks nothing.
template <class Body>
void with_flags(bool a, bool b, const Body& body) {
  if (a && b)
    body.template operator()<true, true>();
  else if (a)
    body.template operator()<true, false>();
  else if (b)
    body.template operator()<false, true>();
  else
    body.template operator()<false, false>();
}

// ---- statistics ---------------------------------------------------------------------------------------------------

constexpr int kStatDoubles = 2, kStatWide = 2;

// Mean and sum of squared distances of one piece, merged into what the block has (Chan, Golub and LeVeque, 1979).
template <class T>
void add_piece(const Layout& layout, const T* x, std::int64_t before, std::int64_t rows, const Scratch<T>& scratch) {
  T* sum = scratch.wide(0);
  T* centre = scratch.wide(1);
  double* mean = scratch.doubles(0);
  double* square = scratch.doubles(1);
  std::int64_t channels = layout.channels, size = rows * channels;
  std::fill(sum, sum + layout.width, T(0));
  for_each_wide(layout, 0, size, [&](std::int64_t at, std::int64_t n) {
    const T* p = x + at;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) sum[i] += p[i];
  });
  for (std::int64_t f = 1; f < layout.fold; ++f) {
    for (std::int64_t c = 0; c < channels; ++c) sum[c] += sum[f * channels + c];
  }
  T count = static_cast<T>(rows);
  for (std::int64_t c = 0; c < channels; ++c) centre[c] = sum[c] / count;
  for (std::int64_t f = 1; f < layout.fold; ++f) std::copy(centre, centre + channels, centre + f * channels);
  std::fill(sum, sum + layout.width, T(0));
  for_each_wide(layout, 0, size, [&](std::int64_t at, std::int64_t n) {
    const T* p = x + at;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      T d = p[i] - centre[i];
      sum[i] += d * d;
    }
  });
  for (std::int64_t f = 1; f < layout.fold; ++f) {
    for (std::int64_t c = 0; c < channels; ++c) sum[c] += sum[f * channels + c];
  }
  double share = static_cast<double>(rows) / static_cast<double>(before + rows);
  for (std::int64_t c = 0; c < channels; ++c) {
    double distance = static_cast<double>(centre[c]) - mean[c];
    mean[c] += distance * share;
    square[c] += static_cast<double>(sum[c]) + distance * distance * share * static_cast<double>(before);
  }
}

}  // namespace

std::int64_t statistics_workspace(const Sizes& sizes, std::int64_t item_bytes) {
  Layout layout(sizes);
  std::int64_t block = item_bytes == 8 ? Scratch<double>::bytes(layout, kStatDoubles, kStatWide)
                                       : Scratch<float>::bytes(layout, kStatDoubles, kStatWide);
  return layout.blocks.count * block;
}

template <class T>
void statistics(const Sizes& s, const T* x, double* mean, double* variance, std::byte* workspace) {
  Layout layout(s);
  std::int64_t step = Scratch<T>::bytes(layout, kStatDoubles, kStatWide);
  parallel_blocks(s.rows, layout.blocks.rows_per_block, [&](std::int64_t begin, std::int64_t end) {
    Scratch<T> scratch(layout, workspace + layout.block_of(begin) * step, kStatDoubles);
    std::fill(scratch.sums, scratch.sums + kStatDoubles * s.channels, 0.0);
    for (std::int64_t row = begin; row < end; row += layout.piece_rows) {
      add_piece(layout, x + row * s.channels, row - begin, std::min(layout.piece_rows, end - row), scratch);
    }
  });
  std::fill(mean, mean + s.channels, 0.0);
  std::fill(variance, variance + s.channels, 0.0);
  for (std::int64_t b = 0; b < layout.blocks.count; ++b) {
    Scratch<T> scratch(layout, workspace + b * step, kStatDoubles);
    double before = static_cast<double>(b * layout.blocks.rows_per_block);
    double rows = std::min(static_cast<double>(layout.blocks.rows_per_block), static_cast<double>(s.rows) - before);
    double share = rows / (before + rows);
    for (std::int64_t c = 0; c < s.channels; ++c) {
      double distance = scratch.doubles(0)[c] - mean[c];
      mean[c] += distance * share;
      variance[c] += scratch.doubles(1)[c] + distance * distance * share * before;
    }
  }
  for (std::int64_t c = 0; c < s.channels; ++c) variance[c] /= static_cast<double>(s.rows);
}

// ---- normalisation ------------------------------------------------------------------------------------------------

std::int64_t apply_workspace(const Sizes& sizes, std::int64_t item_bytes) {
  Layout layout(sizes);
  return 3 * round_up_64(layout.width * item_bytes);
}

namespace {

template <class T, bool kRelu, bool kResidual>
void apply_as(const Sizes& s, const Layout& layout, const Apply<T>& call, const Scratch<T>& wide) {
  const T *mean = wide.wide(0), *scale = wide.wide(1), *shift = wide.wide(2);
  parallel_blocks(s.rows, layout.blocks.rows_per_block, [&](std::int64_t begin, std::int64_t end) {
    for_each_wide(layout, begin * s.channels, end * s.channels, [&](std::int64_t at, std::int64_t n) {
      const T* x = call.x + at;
      const T* residual = kResidual ? call.residual + at : nullptr;
      T* y = call.y + at;
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) {
        T value = (x[i] - mean[i]) * scale[i] + shift[i];
        if constexpr (kResidual) value += residual[i];
        // Written so that NaN stays NaN.
        if constexpr (kRelu) value = value <= T(0) ? T(0) : value;
        y[i] = value;
      }
    });
  });
}

}  // namespace

template <class T>
void apply(const Sizes& s, const Apply<T>& call, std::byte* workspace) {
  Layout layout(s);
  Scratch<T> wide(layout, workspace, 0);
  repeat(layout, call.mean, wide.wide(0));
  repeat(layout, call.scale, wide.wide(1));
  repeat(layout, call.shift, wide.wide(2));
  with_flags(call.relu, call.residual != nullptr,
             [&]<bool kRelu, bool kResidual>() { apply_as<T, kRelu, kResidual>(s, layout, call, wide); });
}

// ---- gradient -----------------------------------------------------------------------------------------------------

namespace {

constexpr int kReduceDoubles = 2, kReduceWide = 3;

template <class T, bool kRelu, bool kCentred, bool kResidual>
void reduce_piece(const Layout& layout, const Reduce<T>& call, std::int64_t begin, std::int64_t end,
                  const Scratch<T>& scratch) {
  T *g_sum = scratch.wide(0), *gx_sum = scratch.wide(1);
  const T* mean = scratch.wide(2);
  std::fill(g_sum, g_sum + layout.width, T(0));
  std::fill(gx_sum, gx_sum + layout.width, T(0));
  bool add = call.accumulate_residual;
  for_each_wide(layout, begin, end, [&](std::int64_t at, std::int64_t n) {
    const T* dy = call.dy + at;
    const T* out = kRelu ? call.out + at : nullptr;
    const T* x = kCentred ? call.x + at : nullptr;
    T* residual = kResidual ? call.residual_grad + at : nullptr;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      T g = dy[i];
      if constexpr (kRelu) g = out[i] > T(0) ? g : T(0);
      g_sum[i] += g;
      if constexpr (kCentred) gx_sum[i] += g * (x[i] - mean[i]);
      if constexpr (kResidual) residual[i] = add ? residual[i] + g : g;
    }
  });
  double *g_total = scratch.doubles(0), *gx_total = scratch.doubles(1);
  for (std::int64_t f = 0; f < layout.fold; ++f) {
    for (std::int64_t c = 0; c < layout.channels; ++c) {
      g_total[c] += static_cast<double>(g_sum[f * layout.channels + c]);
      gx_total[c] += static_cast<double>(gx_sum[f * layout.channels + c]);
    }
  }
}

template <class T, bool kRelu, bool kCentred, bool kResidual>
void reduce_as(const Sizes& s, const Layout& layout, const Reduce<T>& call, std::byte* workspace) {
  std::int64_t step = Scratch<T>::bytes(layout, kReduceDoubles, kReduceWide);
  parallel_blocks(s.rows, layout.blocks.rows_per_block, [&](std::int64_t begin, std::int64_t end) {
    Scratch<T> scratch(layout, workspace + layout.block_of(begin) * step, kReduceDoubles);
    std::fill(scratch.sums, scratch.sums + kReduceDoubles * s.channels, 0.0);
    if constexpr (kCentred) repeat(layout, call.mean, scratch.wide(2));
    for (std::int64_t row = begin; row < end; row += layout.piece_rows) {
      std::int64_t stop = std::min(end, row + layout.piece_rows);
      reduce_piece<T, kRelu, kCentred, kResidual>(layout, call, row * s.channels, stop * s.channels, scratch);
    }
  });
  for (int which = 0; which < 2; ++which) {
    double* total = which == 0 ? call.sum_g : call.sum_gx;
    if (!total) continue;
    combine_blocks(layout.blocks, reinterpret_cast<double*>(workspace) + which * s.channels, step / 8, s.channels,
                   total, false);
  }
}

template <class T, bool kRelu, bool kCentred>
void gradient_as(const Sizes& s, const Layout& layout, const Gradient<T>& call, const Scratch<T>& wide) {
  const T *mean = wide.wide(0), *scale = wide.wide(1), *from_g = wide.wide(2), *from_gx = wide.wide(3);
  bool add = call.accumulate;
  parallel_blocks(s.rows, layout.blocks.rows_per_block, [&](std::int64_t begin, std::int64_t end) {
    for_each_wide(layout, begin * s.channels, end * s.channels, [&](std::int64_t at, std::int64_t n) {
      const T* dy = call.dy + at;
      const T* out = kRelu ? call.out + at : nullptr;
      const T* x = kCentred ? call.x + at : nullptr;
      T* dx = call.dx + at;
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) {
        T g = dy[i];
        if constexpr (kRelu) g = out[i] > T(0) ? g : T(0);
        if constexpr (kCentred) g = g - from_g[i] - (x[i] - mean[i]) * from_gx[i];
        g *= scale[i];
        dx[i] = add ? dx[i] + g : g;
      }
    });
  });
}

}  // namespace

std::int64_t backward_workspace(const Sizes& sizes, std::int64_t item_bytes) {
  Layout layout(sizes);
  std::int64_t block = item_bytes == 8 ? Scratch<double>::bytes(layout, kReduceDoubles, kReduceWide)
                                       : Scratch<float>::bytes(layout, kReduceDoubles, kReduceWide);
  return std::max(layout.blocks.count * block, 4 * round_up_64(layout.width * item_bytes));
}

template <class T>
void reduce(const Sizes& s, const Reduce<T>& call, std::byte* workspace) {
  Layout layout(s);
  with_flags(call.out != nullptr, call.x != nullptr, [&]<bool kRelu, bool kCentred>() {
    if (call.residual_grad)
      reduce_as<T, kRelu, kCentred, true>(s, layout, call, workspace);
    else
      reduce_as<T, kRelu, kCentred, false>(s, layout, call, workspace);
  });
}

template <class T>
void gradient(const Sizes& s, const Gradient<T>& call, std::byte* workspace) {
  Layout layout(s);
  Scratch<T> wide(layout, workspace, 0);
  repeat(layout, call.scale, wide.wide(1));
  if (call.x) {
    repeat(layout, call.mean, wide.wide(0));
    repeat(layout, call.from_g, wide.wide(2));
    repeat(layout, call.from_gx, wide.wide(3));
  }
  with_flags(call.out != nullptr, call.x != nullptr,
             [&]<bool kRelu, bool kCentred>() { gradient_as<T, kRelu, kCentred>(s, layout, call, wide); });
}

#define REPRISE_INSTANTIATE(T)                                                       \
  template void statistics<T>(const Sizes&, const T*, double*, double*, std::byte*); \
  template void apply<T>(const Sizes&, const Apply<T>&, std::byte*);                 \
  template void reduce<T>(const Sizes&, const Reduce<T>&, std::byte*);               \
  template void gradient<T>(const Sizes&, const Gradient<T>&, std::byte*);
REPRISE_INSTANTIATE(float)
REPRISE_INSTANTIATE(double)
#undef REPRISE_INSTANTIATE

}  // namespace reprise::norm_kernels
