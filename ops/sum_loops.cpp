#include "ops/sum_loops.h"

#include <cstring>
#include <type_traits>

#include "ops/elementwise_functors.h"
#include "ops/kernels.h"

namespace reprise::loops {

namespace {

constexpr std::int64_t kMaxPieces = 16;     // of a long sum whose results are few
constexpr std::int64_t kMaxSplitItems = 8;  // so few
constexpr std::int64_t kPieceCost = 32768;  // elements worth a piece

// The axes of a shape split into those of the result (kept) and those that are added up, each merged.
struct SumPlan {
  LoopPlan kept;  // strides of the inputs; its flat index is that of the contiguous result
  LoopPlan reduced;
  bool inner_kept = false;  // the innermost axis of the shape is kept
};

// Appends an axis to a plan, merged into the last one where all strides allow.
void append_axis(LoopPlan& plan, int& rank, std::int64_t extent, const Strides* strides, int axis) {
  bool merges = rank > 0;
  for (int k = 0; k < plan.operands && merges; ++k) merges = plan.stride[k][rank - 1] == extent * strides[k][axis];
  if (!merges) plan.extent[rank++] = 1;
  plan.extent[rank - 1] *= extent;
  plan.count *= extent;
  for (int k = 0; k < plan.operands; ++k) plan.stride[k][rank - 1] = strides[k][axis];
}

SumPlan plan_sum(const Shape& shape, const TensorView& out, const TensorView* const* in, int count) {
  SumPlan plan;
  plan.kept.operands = plan.reduced.operands = count;
  Strides strides[kMaxLoopOperands];
  for (int k = 0; k < count; ++k) strides[k] = broadcast_strides(*in[k], shape);
  int kept_rank = 0, reduced_rank = 0;
  int lead = shape.size() - out.shape.size();
  for (int a = 0; a < shape.size(); ++a) {
    if (shape[a] == 1) continue;
    bool is_kept = a >= lead && out.shape[a - lead] == shape[a];
    plan.inner_kept = is_kept;
    append_axis(is_kept ? plan.kept : plan.reduced, is_kept ? kept_rank : reduced_rank, shape[a], strides, a);
  }
  plan.kept.rank = std::max(kept_rank, 1);
  plan.reduced.rank = std::max(reduced_rank, 1);
  return plan;
}

// One sum under way. An item is a result or, where the innermost axis is kept, up to kSumTile results side by side.
class Summation {
 public:
  Summation(const SumKernels& kernels, const SumPlan& plan, const TensorView& out, double scale,
            const TensorView* const* in)
      : kernels_(kernels), plan_(plan), out_(out), scale_(scale), in_(in) {
    width_ = plan.inner_kept ? plan.kept.extent[plan.kept.rank - 1] : 1;
    tiles_ = (width_ + kSumTile - 1) / kSumTile;
  }

  std::int64_t items() const { return plan_.kept.count / width_ * tiles_; }
  std::int64_t item_width(std::int64_t item) const { return std::min(kSumTile, width_ - item % tiles_ * kSumTile); }

  // Totals of elements [begin, end) of the reduced axes for one item.
  void add_up(std::int64_t item, std::int64_t begin, std::int64_t end, double* totals) const {
    LoopCursor start(plan_.kept, first_result(item));
    const std::byte* base[kMaxLoopOperands];
    for (int k = 0; k < plan_.kept.operands; ++k) base[k] = in_[k]->data + start.offsets()[k] * item_bytes(k);
    std::fill_n(totals, item_width(item), 0.0);
    LoopCursor cursor(plan_.reduced, begin);
    while (begin < end) {
      if (plan_.inner_kept) {
        std::int64_t stop = std::min(end, begin + kRowStretch);
        add_rows(cursor, base, begin, stop, end, item_width(item), totals);
        begin = stop;
      } else {
        std::int64_t n = std::min(cursor.run(), end - begin);
        totals[0] += kernels_.sum(kernels_.functor, inputs(base, cursor, plan_.reduced), n);
        begin += n;
        if (begin < end) cursor.advance(n);
      }
    }
  }

  void store(std::int64_t item, const double* totals) const {
    std::int64_t first = first_result(item), width = item_width(item);
    dispatch_gradient(out_.dtype, [&]<class T>() {
      for (std::int64_t i = 0; i < width; ++i) {
        if constexpr (std::is_same_v<T, BFloat16>) {
          out_.as<T>()[first + i] = functors::to_bf16(totals[i] * scale_);
        } else {
          out_.as<T>()[first + i] = static_cast<T>(totals[i] * scale_);
        }
      }
    });
  }

 private:
  std::int64_t first_result(std::int64_t item) const { return item / tiles_ * width_ + item % tiles_ * kSumTile; }
  std::int64_t item_bytes(int k) const { return size_of(in_[k]->dtype); }

  RunInputs inputs(const std::byte* const* base, const LoopCursor& cursor, const LoopPlan& strides) const {
    RunInputs run;
    for (int k = 0; k < plan_.kept.operands; ++k) {
      run.data[k] = base[k] + cursor.offsets()[k] * item_bytes(k);
      run.stride[k] = strides.stride[k][strides.rank - 1];
    }
    return run;
  }

  // Rows [begin, stop) of the reduced axes, added in the type of the sums, then to the totals.
  void add_rows(LoopCursor& cursor, const std::byte* const* base, std::int64_t begin, std::int64_t stop,
                std::int64_t end, std::int64_t width, double* totals) const {
    double part[kSumTile];
    std::fill_n(part, width, 0.0);  // zero bits are zero in f32 too
    std::int64_t row_stride[kMaxLoopOperands];
    for (int k = 0; k < plan_.reduced.operands; ++k) row_stride[k] = plan_.reduced.stride[k][plan_.reduced.rank - 1];
    while (begin < stop) {
      std::int64_t rows = std::min(cursor.run(), stop - begin);
      kernels_.add(kernels_.functor, part, inputs(base, cursor, plan_.kept), row_stride, rows, width);
      begin += rows;
      if (begin < end) cursor.advance(rows);
    }
    dispatch_float(out_.dtype == DType::bf16 ? DType::f32 : out_.dtype, [&]<class T>() {
      for (std::int64_t i = 0; i < width; ++i) {
        T value;
        std::memcpy(&value, reinterpret_cast<const std::byte*>(part) + i * sizeof(T), sizeof(T));
        totals[i] += static_cast<double>(value);
      }
    });
  }

  const SumKernels& kernels_;
  const SumPlan& plan_;
  const TensorView& out_;
  double scale_;
  const TensorView* const* in_;
  std::int64_t width_ = 1, tiles_ = 1;
};

// Few results of long sums: the sums are cut into pieces by a rule that knows sizes only, added in order of pieces.
void run_pieces(const Summation& sum, std::int64_t items, std::int64_t reduced, std::int64_t pieces) {
  double totals[kMaxSplitItems * kMaxPieces][kSumTile];
  std::int64_t piece = (reduced + pieces - 1) / pieces;
  parallel_blocks(items * pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t from = std::min(reduced, i % pieces * piece);
      sum.add_up(i / pieces, from, std::min(reduced, from + piece), totals[i]);
    }
  });
  for (std::int64_t item = 0; item < items; ++item) {
    double* first = totals[item * pieces];
    for (std::int64_t p = 1; p < pieces; ++p) {
      for (std::int64_t w = 0; w < sum.item_width(item); ++w) first[w] += totals[item * pieces + p][w];
    }
    sum.store(item, first);
  }
}

}  // namespace

void run_sum(const SumKernels& kernels, const Shape& shape, const TensorView& out, double scale,
             const TensorView* const* in, int count) {
  if (out.size() == 0) return;
  if (element_count(shape) == 0) return fill_zero(out);
  SumPlan plan = plan_sum(shape, out, in, count);
  Summation sum(kernels, plan, out, scale, in);
  std::int64_t items = sum.items(), reduced = plan.reduced.count;
  std::int64_t cost = reduced * sum.item_width(0);
  std::int64_t pieces = items <= kMaxSplitItems ? std::clamp<std::int64_t>(cost / kPieceCost, 1, kMaxPieces) : 1;
  if (pieces > 1) return run_pieces(sum, items, reduced, pieces);
  parallel_blocks(items, row_grain(cost), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) {
      double totals[kSumTile];
      sum.add_up(item, 0, reduced, totals);
      sum.store(item, totals);
    }
  });
}

}  // namespace reprise::loops

namespace reprise {

namespace {

struct WidenBf16 {
  float operator()(BFloat16 x) const { return static_cast<float>(x); }
};

}  // namespace

void sum_to_operand(const TensorView& g, const TensorView& to) {
  if (g.dtype != DType::bf16) {
    dispatch_float(g.dtype, [&]<class T>() { sum_elements<T, T>(functors::Copy{}, g.shape, to, 1.0, g); });
  } else if (to.size() == g.size()) {
    copy_elements({to.data, to.dtype, g.shape, contiguous_strides(g.shape)}, g);
  } else {
    WidenBf16 widen;
    const TensorView* in[] = {&g};
    loops::SumKernels kernels{&loops::sum_kernel<float, WidenBf16, BFloat16>,
                              &loops::add_kernel<float, WidenBf16, BFloat16>, &widen};
    loops::run_sum(kernels, g.shape, to, 1.0, in, 1);
  }
}

}  // namespace reprise
