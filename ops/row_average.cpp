// ema_rows: the list is sorted by row, each row is then the work of one thread. count_rows: one pass over the list.
#include "ops/row_average.h"

#include <algorithm>

#include "ops/broadcast.h"
#include "ops/kernels.h"
#include "ops/operands.h"
#include "ops/row_index.h"

namespace reprise {

namespace {

constexpr int kValue = 0, kRows = 1, kTo = 2;
constexpr std::int64_t kColumns = 64;  // of a row, added up at a time

/// One entry of the list: it names `row` at place `at`.
struct Entry {
  std::int64_t row, at;
  friend auto operator<=>(const Entry&, const Entry&) = default;
};

/// The list by rows, in the memory of the workspace: entries sorted by row and place, and where each row's entries
/// begin.
struct Grouped {
  Entry* entries;
  std::int64_t* begins;  // one more than there are rows
  std::int64_t rows = 0;

  static std::int64_t bytes(std::int64_t count) {
    return count * static_cast<std::int64_t>(sizeof(Entry)) + (count + 1) * size_of(DType::i64);
  }
  Grouped(const Op& op, const TensorView& list, std::int64_t row_count, std::byte* workspace) {
    std::int64_t count = list.size();
    entries = reinterpret_cast<Entry*>(workspace);
    begins = reinterpret_cast<std::int64_t*>(entries + count);
    resolve_rows(op, list, row_count, false, begins);
    for (std::int64_t i = 0; i < count; ++i) entries[i] = {begins[i], i};
    if (!std::is_sorted(entries, entries + count)) std::sort(entries, entries + count);
    for (std::int64_t i = 0; i < count; ++i) {
      if (i == 0 || entries[i].row != entries[i - 1].row) begins[rows++] = i;
    }
    begins[rows] = count;
  }
};

/// Where in `value` the listed row at each place begins, in elements: 0 strides where the value is the same for all.
class ValuePlaces {
 public:
  ValuePlaces(const Shape& value, const Shape& list) : list_(list), strides_(contiguous_strides(value)) {
    for (int a = 0; a < list.size(); ++a) {
      same_ = same_ && value[a] == list[a];
      if (value[a] != list[a]) strides_[a] = 0;
    }
  }
  std::int64_t operator()(std::int64_t at, std::int64_t width) const {
    if (same_) return at * width;
    std::int64_t offset = 0;
    for (int a = list_.size() - 1; a >= 0; --a) {
      offset += at % list_[a] * strides_[a];
      at /= list_[a];
    }
    return offset;
  }

 private:
  Shape list_;
  Strides strides_;
  bool same_ = true;
};

std::int64_t width_of(const Shape& to) { return element_count(rest_of(to)); }

/// Rows at a time for one thread.
std::int64_t grain_of(std::int64_t width) {
  return std::max<std::int64_t>(1, kElementGrain / 4 / std::max<std::int64_t>(1, width));
}

// ---- ema_rows
void infer_ema(InferContext& c) {
  const Shape &to = c.shape(kTo), &list = c.shape(kRows), &value = c.shape(kValue);
  require_float(c, kTo);
  require_index(c, kRows);
  require_same_dtype(c, kValue, kTo);
  if (to.empty()) fail(ErrorKind::user, "[ema_rows] expected a target with at least one axis, got []");
  if (!is_contiguous(rest_of(to), rest_of(c.operand(kTo).strides))) {
    fail(ErrorKind::user, "[ema_rows] expected a target whose rows lie in one piece each, got {} with strides {}",
         to_string(to), to_string(c.operand(kTo).strides));
  }
  require_joinable(c, list, rest_of(to));
  Shape full = join(list, rest_of(to));
  bool fits = value.size() == full.size();
  for (int a = 0; a < full.size() && fits; ++a) fits = value[a] == full[a] || (a < list.size() && value[a] == 1);
  if (!fits) {
    fail(ErrorKind::user, "[ema_rows] expected a value of shape {}, or with 1 along the list, got {}", to_string(full),
         to_string(value));
  }
  std::int64_t bytes = Grouped::bytes(element_count(list));
  c.workspace(bytes, bytes);
}

Region region(const RegionContext& c, int index) {
  return index == c.op().input_count() ? rows_region(c, index, index - 1, false, false) : c.operand(index).region();
}

void forward_ema(ForwardContext& c) {
  const TensorView& to = c.update(0);
  Grouped list(*c.op, c.in(kRows), to.shape[0], c.workspace);
  ValuePlaces places(c.in(kValue).shape, c.in(kRows).shape);
  std::int64_t width = width_of(to.shape);
  dispatch_float(to.dtype, [&]<class T>() {
    auto keep = static_cast<T>(c.attrs->real(0));
    const T* value = c.in(kValue).as<T>();
    parallel_blocks(list.rows, grain_of(width), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        std::int64_t first = list.begins[r], last = list.begins[r + 1];
        T* row = to.as<T>() + list.entries[first].row * to.strides[0];
        auto take = static_cast<T>((1.0 - c.attrs->real(0)) / static_cast<double>(last - first));
        for (std::int64_t j = 0; j < width; j += kColumns) {
          std::int64_t columns = std::min(kColumns, width - j);
          T sum[kColumns] = {};
          for (std::int64_t i = first; i < last; ++i) {
            const T* from = value + places(list.entries[i].at, width) + j;
#pragma omp simd
            for (std::int64_t k = 0; k < columns; ++k) sum[k] += from[k];
          }
#pragma omp simd
          for (std::int64_t k = 0; k < columns; ++k) row[j + k] = keep * row[j + k] + take * sum[k];
        }
      }
    });
  });
}

/// The value's gradient: each listed value's share of the gradient of its row, added up where values are shared.
template <class T>
void backward_value(BackwardContext& c, const TensorView& g, const Grouped& list) {
  const TensorView& grad = c.grad(kValue);
  std::int64_t width = width_of(g.shape);
  ValuePlaces places(grad.shape, c.in(kRows).shape);
  fill_zero(grad);
  parallel_blocks(width, grad.size() <= kElementGrain ? std::max<std::int64_t>(1, width) : kColumns,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t r = 0; r < list.rows; ++r) {
                      std::int64_t first = list.begins[r], last = list.begins[r + 1];
                      auto share = static_cast<T>((1.0 - c.attrs->real(0)) / static_cast<double>(last - first));
                      const T* from = g.as<T>() + list.entries[first].row * width;
                      for (std::int64_t i = first; i < last; ++i) {
                        T* to = grad.as<T>() + places(list.entries[i].at, width);
#pragma omp simd
                        for (std::int64_t j = begin; j < end; ++j) to[j] += share * from[j];
                      }
                    }
                  });
}

void backward_ema(BackwardContext& c) {
  const TensorView& g = c.grad_updated(0);
  Grouped list(*c.op, c.in(kRows), g.shape[0], c.workspace);
  std::int64_t width = width_of(g.shape);
  dispatch_float(g.dtype, [&]<class T>() {
    if (c.wants(kValue)) backward_value<T>(c, g, list);
    if (!c.wants(kTo)) return;
    const TensorView& grad = c.grad(kTo);
    copy_elements(grad, g);
    auto keep = static_cast<T>(c.attrs->real(0));
    parallel_blocks(list.rows, grain_of(width), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        T* row = grad.as<T>() + list.entries[list.begins[r]].row * width;
#pragma omp simd
        for (std::int64_t j = 0; j < width; ++j) row[j] *= keep;
      }
    });
  });
}

// ---- count_rows
void infer_count(InferContext& c) {
  require_index(c, 0);
  if (c.dtype(1) != DType::i64 || c.shape(1).size() != 1) {
    fail(ErrorKind::user, "[count_rows] expected an i64 counter with one axis, got {} {}", to_string(c.dtype(1)),
         to_string(c.shape(1)));
  }
  c.workspace(row_list_bytes(element_count(c.shape(0))), 0);
}

void forward_count(ForwardContext& c) {
  auto* rows = reinterpret_cast<std::int64_t*>(c.workspace);
  const TensorView& counter = c.update(0);
  resolve_rows(*c.op, c.in(0), counter.shape[0], false, rows);
  for (std::int64_t i = 0, count = c.in(0).size(); i < count; ++i)
    ++counter.as<std::int64_t>()[rows[i] * counter.strides[0]];
}

}  // namespace

const Op kEmaRows{.name = "ema_rows",
                  .about = "listed rows move towards the mean of the values listed for them; rows may repeat",
                  .inputs = {"value", "rows"},
                  .updates = {"to"},
                  .attrs = {{"keep", AttrKind::real}},
                  .saves = {{"value", {in("rows")}}, {"to", {in("rows")}}},
                  .infer = infer_ema,
                  .forward = forward_ema,
                  .backward = backward_ema,
                  .region = region};

const Op kCountRows{.name = "count_rows",
                    .about = "adds to each counter how often the list names it; no gradient",
                    .inputs = {"rows"},
                    .updates = {"counter"},
                    .infer = infer_count,
                    .forward = forward_count,
                    .region = region};

void ema_rows(Tape& tape, Arg to, Arg rows, Arg value, double keep) {
  DType dtype = to.dtype();
  Arg ready = as_dtype(tape, std::move(value), dtype);
  tape.apply_none(kEmaRows, {std::move(ready), std::move(rows), std::move(to)}, Attrs().add(keep));
}

void count_rows(Tape& tape, const Tensor& counter, Arg rows) {
  tape.apply_none(kCountRows, {std::move(rows), counter});
}

void register_row_average_ops() {
  for (const Op* op : {&kEmaRows, &kCountRows}) register_op(*op);
}

}  // namespace reprise
