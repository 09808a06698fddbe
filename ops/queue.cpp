#include "ops/queue.h"

#include "ops/broadcast.h"
#include "ops/kernels.h"
#include "ops/operands.h"
#include "ops/row_index.h"

namespace reprise {

namespace {

constexpr int kKeys = 0, kQueue = 1;

void infer_queue(InferContext& c) {
  require_same_dtype(c, kKeys, kQueue);
  const Shape& keys = c.shape(kKeys);
  const Shape& queue = c.shape(kQueue);
  bool fits = !keys.empty() && keys.size() == queue.size() && keys[0] <= queue[0];
  for (int a = 1; a < keys.size() && fits; ++a) fits = keys[a] == queue[a];
  if (!fits) {
    fail(ErrorKind::user, "[{}] expected keys of at most as many rows as the queue {}, got {}", c.op().name,
         to_string(queue), to_string(keys));
  }
}

// `count` rows of a view from `begin` on.
TensorView rows_of(const TensorView& view, std::int64_t begin, std::int64_t count) {
  return part_of(view, 0, begin, count);
}

// ---- ring
void infer_ring(InferContext& c) {
  infer_queue(c);
  std::int64_t position = c.attrs().integer(0), rows = c.shape(kQueue)[0];
  if (position < 0 || position >= rows) {
    fail(ErrorKind::user, "[enqueue_ring] expected a position in [0, {}), got {}", rows, position);
  }
}

Region region_ring(const RegionContext& c, int index) {
  if (index != kQueue) return c.operand(index).region();
  return ring_region(c.operand(kQueue), c.attrs().integer(0), c.operand(kKeys).shape()[0]);
}

// Calls body(rows of the queue, the rows of keys that meet them) once or, where the ring goes round, twice.
template <class Body>
void for_each_arc(const TensorView& queue, const TensorView& keys, std::int64_t position, const Body& body) {
  std::int64_t n = keys.shape[0];
  std::int64_t first = std::min(n, queue.shape[0] - position);
  if (first > 0) body(rows_of(queue, position, first), rows_of(keys, 0, first));
  if (n > first) body(rows_of(queue, 0, n - first), rows_of(keys, first, n - first));
}

void forward_ring(ForwardContext& c) { for_each_arc(c.update(0), c.in(kKeys), c.attrs->integer(0), copy_elements); }

void backward_ring(BackwardContext& c) {
  const TensorView& g = c.grad_updated(0);
  std::int64_t position = c.attrs->integer(0);
  if (c.wants(kKeys)) {
    for_each_arc(g, c.grad(kKeys), position,
                 [](const TensorView& from, const TensorView& to) { copy_elements(to, from); });
  }
  if (c.wants(kQueue)) {
    const TensorView& to = c.grad(kQueue);
    copy_elements(to, g);
    for_each_arc(to, c.operand_shape(kKeys), position,
                 [](const TensorView& rows, const TensorView&) { fill_zero(rows); });
  }
}

// ---- shift
/// Where the keys go, where the rest goes, and where the rest comes from.
struct Shift {
  std::int64_t keys, rest, from, count;
};
Shift shift_of(const Attrs& attrs, std::int64_t rows, std::int64_t n) {
  return attrs.flag(0) ? Shift{rows - n, 0, n, rows - n} : Shift{0, n, 0, rows - n};
}

void forward_shift(ForwardContext& c) {
  const TensorView& queue = c.update(0);
  std::int64_t n = c.in(kKeys).shape[0];
  Shift shift = shift_of(*c.attrs, queue.shape[0], n);
  if (n > 0) {
    // Blocks of n rows, from the end that moves into the freed place, so that no row is written before it is read.
    for (std::int64_t done = 0; done < shift.count; done += n) {
      std::int64_t rows = std::min(n, shift.count - done);
      std::int64_t at = c.attrs->flag(0) ? done : shift.count - done - rows;
      copy_elements(rows_of(queue, shift.rest + at, rows), rows_of(queue, shift.from + at, rows));
    }
    copy_elements(rows_of(queue, shift.keys, n), c.in(kKeys));
  }
}

void backward_shift(BackwardContext& c) {
  const TensorView& g = c.grad_updated(0);
  std::int64_t n = c.operand_shape(kKeys).shape[0];
  Shift shift = shift_of(*c.attrs, g.shape[0], n);
  if (c.wants(kKeys)) copy_elements(c.grad(kKeys), rows_of(g, shift.keys, n));
  if (c.wants(kQueue)) {
    const TensorView& to = c.grad(kQueue);
    fill_zero(to);
    copy_elements(rows_of(to, shift.from, shift.count), rows_of(g, shift.rest, shift.count));
  }
}

}  // namespace

const Op kEnqueueRing{.name = "enqueue_ring",
                      .about = "keys over the rows of a ring from a position on",
                      .inputs = {"keys"},
                      .updates = {"queue"},
                      .attrs = {{"position", AttrKind::integer}},
                      .saves = {{"keys", {}}, {"queue", {}}},
                      .strided = true,
                      .infer = infer_ring,
                      .forward = forward_ring,
                      .backward = backward_ring,
                      .region = region_ring};

const Op kEnqueueShift{.name = "enqueue_shift",
                       .about = "moves a queue and writes keys in the place that is freed",
                       .inputs = {"keys"},
                       .updates = {"queue"},
                       .attrs = {{"at_back", AttrKind::flag}},
                       .saves = {{"keys", {}}, {"queue", {}}},
                       .strided = true,
                       .infer = infer_queue,
                       .forward = forward_shift,
                       .backward = backward_shift};

std::int64_t enqueue_ring(Tape& tape, Arg queue, Arg keys, std::int64_t position) {
  std::int64_t rows = queue.shape().empty() ? 1 : queue.shape()[0], n = keys.shape().empty() ? 0 : keys.shape()[0];
  keys = as_dtype(tape, std::move(keys), queue.dtype());
  tape.apply_none(kEnqueueRing, {std::move(keys), std::move(queue)}, Attrs().add(position));
  return (position + n) % rows;
}

void enqueue_shift(Tape& tape, Arg queue, Arg keys, bool at_back) {
  keys = as_dtype(tape, std::move(keys), queue.dtype());
  tape.apply_none(kEnqueueShift, {std::move(keys), std::move(queue)}, Attrs().add(at_back));
}

void register_queue_ops() {
  register_op(kEnqueueRing);
  register_op(kEnqueueShift);
}

}  // namespace reprise
