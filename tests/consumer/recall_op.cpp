// The op: a contract (const Op kRecall), a shape rule, the bytes it touches, a forward and a backward.
#include "ops/row_index.h"
#include "recall.h"

namespace recall {

using namespace reprise;

namespace {

constexpr int kX = 0, kMemory = 1;  // operands: inputs, then updates

void infer(InferContext& c) {
  const Shape &x = c.shape(kX), &memory = c.shape(kMemory);
  bool fits = x.size() == 2 && memory.size() == 2 && x[0] <= memory[0] && x[1] == memory[1];
  if (!fits || c.dtype(kX) != c.dtype(kMemory) || !is_floating(c.dtype(kX))) {
    fail(ErrorKind::user, "[recall] expected x [n, c] and memory [m, c] of one float type with n <= m, got {} and {}",
         to_string(x), to_string(memory));
  }
  std::int64_t position = c.attrs().integer(0);
  if (position < 0 || position >= memory[0])
    fail(ErrorKind::user, "[recall] expected a position in [0, {}), got {}", memory[0], position);
  c.result(0, c.dtype(kX), x);
}

/// The rows of the memory that are read and written; nothing owes or preserves the others.
Region region(const RegionContext& c, int index) {
  if (index != kMemory) return c.operand(index).region();
  return ring_region(c.operand(kMemory), c.attrs().integer(0), c.operand(kX).shape()[0]);
}

/// Calls body(element of x, element of memory) for every element of x.
template <class Body>
void for_each_element(const Shape& x, const Shape& memory, std::int64_t position, const Body& body) {
  for (std::int64_t i = 0; i < x[0]; ++i) {
    for (std::int64_t k = 0; k < x[1]; ++k) body(i * x[1] + k, (position + i) % memory[0] * x[1] + k);
  }
}

void forward(ForwardContext& c) {
  dispatch_float(c.in(kX).dtype, [&]<class T>() {
    const T* x = c.in(kX).as<T>();
    T *memory = c.update(0).as<T>(), *out = c.out(0).as<T>();
    for_each_element(c.in(kX).shape, c.update(0).shape, c.attrs->integer(0), [&](std::int64_t i, std::int64_t m) {
      T seen = x[i];
      out[i] = seen * (1 + memory[m]);
      memory[m] = seen;  // in a replay this is a private copy
    });
  });
}

// The memory's old rows are needed here, though the forward has overwritten them: .saves says so.
void backward(BackwardContext& c) {
  const TensorView &g = c.grad_out(0), &written = c.grad_updated(0);
  dispatch_float(c.grad(kX).dtype, [&]<class T>() {
    T* dx = c.grad(kX).as<T>();
    for_each_element(c.grad(kX).shape, c.operand_shape(kMemory).shape, c.attrs->integer(0),
                     [&](std::int64_t i, std::int64_t m) {
                       dx[i] = g.defined() ? g.as<T>()[i] * (1 + c.old(0).as<T>()[m]) : T(0);
                       if (written.defined()) dx[i] += written.as<T>()[m];
                     });
  });
}

}  // namespace

const Op kRecall{.name = "recall",
                 .about = "x scaled by what a ring held, which then holds x",
                 .inputs = {"x"},
                 .updates = {"memory"},
                 .outputs = {"out"},
                 .attrs = {{"position", AttrKind::integer}},
                 .saves = {{"x", {old("memory")}}},
                 .infer = infer,
                 .forward = forward,
                 .backward = backward,
                 .region = region};

Value recall(Tape& tape, Arg x, Arg memory, std::int64_t position) {
  return tape.apply_one(kRecall, {std::move(x), std::move(memory)}, Attrs().add(position));
}

}  // namespace recall
