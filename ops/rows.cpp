// gather_rows and scatter_add_rows, each the gradient of the other. Embeddings are gather_rows on a leaf.
#include "ops/rows.h"

#include <cstring>
#include <type_traits>

#include "ops/broadcast.h"
#include "ops/kernels.h"
#include "ops/row_index.h"

namespace reprise {

namespace {

// Columns that one thread adds up at a time: a few cache lines, so that no two threads write to one.
constexpr std::int64_t kColumnsOfRow = 64;

void require_table(const InferContext& c, int index) {
  if (c.shape(index).size() >= 1) return;
  fail(ErrorKind::user, "[{}] expected a table with at least one axis, got shape []", c.op().name);
}

/// to[i, ...] = from[rows[i], ...]; `to` is contiguous.
void copy_rows(const TensorView& to, const TensorView& from, const std::int64_t* rows, std::int64_t count) {
  std::int64_t width = element_count(rest_of(from.shape));
  std::int64_t row_bytes = width * size_of(from.dtype);
  std::int64_t grain = row_grain(width);
  if (is_contiguous(rest_of(from.shape), rest_of(from.strides))) {
    std::int64_t step = from.strides[0] * size_of(from.dtype);
    parallel_blocks(count, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::memcpy(to.data + i * row_bytes, from.data + rows[i] * step, static_cast<std::size_t>(row_bytes));
      }
    });
    return;
  }
  parallel_blocks(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      TensorView row = row_of(from, rows[i]);
      copy_elements({to.data + i * row_bytes, to.dtype, row.shape, contiguous_strides(row.shape)}, row);
    }
  });
}

template <class T>
T sum_of_two(T a, T b) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16(static_cast<float>(a) + static_cast<float>(b));
  } else {
    return a + b;
  }
}

/// to[rows[i], ...] += from[i, ...] in order of i; both contiguous. Threads share out columns, so the order is that of
/// i.
void add_to_rows(const TensorView& to, const TensorView& from, const std::int64_t* rows, std::int64_t count) {
  std::int64_t width = element_count(rest_of(to.shape));
  std::int64_t columns = count * width <= kElementGrain ? std::max<std::int64_t>(1, width) : kColumnsOfRow;
  dispatch_gradient(to.dtype, [&]<class T>() {
    parallel_blocks(width, columns, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = 0; i < count; ++i) {
        T* sum = to.as<T>() + rows[i] * width;
        const T* term = from.as<T>() + i * width;
#pragma omp simd
        for (std::int64_t j = begin; j < end; ++j) sum[j] = sum_of_two(sum[j], term[j]);
      }
    });
  });
}

// ---- gather_rows
void infer_gather(InferContext& c) {
  require_table(c, 0);
  require_index(c, 1);
  require_joinable(c, c.shape(1), rest_of(c.shape(0)));
  std::int64_t list = row_list_bytes(element_count(c.shape(1)));
  c.workspace(list, list);
  c.result(0, c.dtype(0), join(c.shape(1), rest_of(c.shape(0))));
}

void forward_gather(ForwardContext& c) {
  auto* rows = reinterpret_cast<std::int64_t*>(c.workspace);
  resolve_rows(*c.op, c.in(1), c.in(0).shape[0], c.attrs->flag(0), rows);
  copy_rows(c.out(0), c.in(0), rows, c.in(1).size());
}

void backward_gather(BackwardContext& c) {
  auto* rows = reinterpret_cast<std::int64_t*>(c.workspace);
  resolve_rows(*c.op, c.in(1), c.operand_shape(0).shape[0], c.attrs->flag(0), rows);  // before grad(0): it may fail
  const TensorView& to = c.grad(0);
  if (!c.accumulates(0)) fill_zero(to);
  add_to_rows(to, c.grad_out(0), rows, c.in(1).size());
}

Region gather_region(const RegionContext& c, int index) {
  return index == 0 ? rows_region(c, 0, 1, c.attrs().flag(0), false) : c.operand(index).region();
}

// ---- scatter_add_rows
void infer_scatter(InferContext& c) {
  require_float(c, 0);
  require_index(c, 1);
  const Shape& source = c.shape(0);
  const Shape& index = c.shape(1);
  bool fits = source.size() >= index.size();
  for (int a = 0; a < index.size() && fits; ++a) fits = source[a] == index[a];
  if (!fits) {
    fail(ErrorKind::user, "[scatter_add_rows] expected a source that starts with the shape of the index, got {} and {}",
         to_string(source), to_string(index));
  }
  if (c.attrs().integer(0) < 0) {
    fail(ErrorKind::user, "[scatter_add_rows] expected a row count of at least 0, got {}", c.attrs().integer(0));
  }
  Shape out{c.attrs().integer(0)};
  for (int a = index.size(); a < source.size(); ++a) out.push_back(source[a]);
  std::int64_t list = row_list_bytes(element_count(index));
  c.workspace(list, list);
  c.result(0, c.dtype(0), out);
}

void forward_scatter(ForwardContext& c) {
  auto* rows = reinterpret_cast<std::int64_t*>(c.workspace);
  resolve_rows(*c.op, c.in(1), c.attrs->integer(0), c.attrs->flag(1), rows);
  fill_zero(c.out(0));
  add_to_rows(c.out(0), c.in(0), rows, c.in(1).size());
}

void backward_scatter(BackwardContext& c) {
  auto* rows = reinterpret_cast<std::int64_t*>(c.workspace);
  resolve_rows(*c.op, c.in(1), c.attrs->integer(0), c.attrs->flag(1), rows);
  copy_rows(c.grad(0), c.grad_out(0), rows, c.in(1).size());
}

}  // namespace

const Op kGatherRows{.name = "gather_rows",
                     .about = "rows of a table by index; in the gradient repeated rows add up",
                     .inputs = {"table", "index"},
                     .outputs = {"out"},
                     .attrs = {{"wrap", AttrKind::flag}},
                     .saves = {{"table", {in("index")}}},
                     .strided = true,
                     .accumulates = true,
                     .fails_first = true,
                     .infer = infer_gather,
                     .forward = forward_gather,
                     .backward = backward_gather,
                     .region = gather_region};

const Op kScatterAddRows{.name = "scatter_add_rows",
                         .about = "zeros with rows added in by index, in index order",
                         .inputs = {"source", "index"},
                         .outputs = {"out"},
                         .attrs = {{"rows", AttrKind::integer}, {"wrap", AttrKind::flag}},
                         .saves = {{"source", {in("index")}}},
                         .infer = infer_scatter,
                         .forward = forward_scatter,
                         .backward = backward_scatter};

Value gather_rows(Tape& tape, Arg table, Arg index, bool wrap) {
  return tape.apply_one(kGatherRows, {std::move(table), std::move(index)}, Attrs().add(wrap));
}
Value embedding(Tape& tape, Arg table, Arg index) { return gather_rows(tape, std::move(table), std::move(index)); }

Value scatter_add_rows(Tape& tape, Arg source, Arg index, std::int64_t rows, bool wrap) {
  return tape.apply_one(kScatterAddRows, {std::move(source), std::move(index)}, Attrs().add(rows).add(wrap));
}

void register_rows_ops() {
  register_op(kGatherRows);
  register_op(kScatterAddRows);
}

}  // namespace reprise
