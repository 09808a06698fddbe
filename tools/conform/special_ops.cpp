#include "tools/conform/special_ops.h"

#include <cstring>

#include "ops/arithmetic.h"
#include "ops/shape_ops.h"

namespace reprise::conform {
namespace {

void infer_same(InferContext& c) { c.result(0, c.dtype(0), c.shape(0)); }

void copy_bytes(const TensorView& to, const TensorView& from) {
  if (from.bytes() > 0) std::memcpy(to.data, from.data, static_cast<std::size_t>(from.bytes()));
}

void forward_same(ForwardContext& c) { copy_bytes(c.out(0), c.in(0)); }

void backward_same(BackwardContext& c) { copy_bytes(c.grad(0), c.grad_out(0)); }

/// The body lives in the machine that runs the program; the node carries its address.
void backward_hook(BackwardContext& c) {
  const auto* body = reinterpret_cast<const std::function<void()>*>(static_cast<std::intptr_t>(c.attrs->integer(0)));
  (*body)();
  backward_same(c);
}

void forward_fail(ForwardContext& c) {
  if (c.replay && c.run == 2) throw InjectedFailure();  // a guard may run it more often in the forward
  forward_same(c);
}

void infer_unsteady(InferContext& c) {
  if (!(c.shape(0) == c.shape(1)) || c.dtype(0) != c.dtype(1)) {
    fail(ErrorKind::user, "[unsteady] expected two operands alike, got {} and {}", to_string(c.shape(0)),
         to_string(c.shape(1)));
  }
  infer_same(c);
}

void forward_unsteady(ForwardContext& c) {
  dispatch_float(c.out(0).dtype, [&]<class T>() {
    const T *x = c.in(0).as<T>(), *step = c.in(1).as<T>();
    T k = static_cast<T>(c.run - 1);
    for (std::int64_t i = 0, n = c.out(0).size(); i < n; ++i) c.out(0).as<T>()[i] = k == 0 ? x[i] : x[i] + k * step[i];
  });
}

/// The forward had k = 0, so the step's gradient is zero.
void backward_unsteady(BackwardContext& c) {
  if (c.wants(0)) copy_bytes(c.grad(0), c.grad_out(0));
  if (c.wants(1)) {
    const TensorView& step = c.grad(1);
    if (step.bytes() > 0) std::memset(step.data, 0, static_cast<std::size_t>(step.bytes()));
  }
}

const Op kHook{.name = "conform_hook",
               .about = "identity that calls a program's hook in the backward",
               .inputs = {"x"},
               .outputs = {"y"},
               .attrs = {{"body", AttrKind::address}},
               .saves = {{"x", {}}},
               .effect = true,  // host code runs in its backward
               .infer = infer_same,
               .forward = forward_same,
               .backward = backward_hook};

const Op kFail{.name = "conform_fail",
               .about = "identity that fails when it runs for the second time",
               .inputs = {"x"},
               .outputs = {"y"},
               .saves = {{"x", {}}},
               .infer = infer_same,
               .forward = forward_fail,
               .backward = backward_same};

const Op kUnsteady{.name = "conform_unsteady",
                   .about = "x plus a step for each time it has run before",
                   .inputs = {"x", "step"},
                   .outputs = {"y"},
                   .saves = {{"x", {}}, {"step", {}}},
                   .nondeterministic = true,
                   .infer = infer_unsteady,
                   .forward = forward_unsteady,
                   .backward = backward_unsteady};

}  // namespace

Value hook(Tape& tape, Arg x, const std::function<void()>& body) {
  return tape.apply_one(kHook, {std::move(x)},
                        Attrs().add(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&body))));
}

Value unsteady(Tape& tape, Arg x, Arg step) {
  Shape shape;
  if (!broadcast_shapes(x.shape(), step.shape(), &shape)) {
    fail(ErrorKind::user, "[unsteady] expected shapes that broadcast, got {} and {}", to_string(x.shape()),
         to_string(step.shape()));
  }
  auto grow = [&](Arg& arg) {
    if (arg.shape() == shape) return;
    Tensor zeros = make_tensor(tape.memory().allocator(), nullptr, arg.dtype(), shape, Category::data, true);
    zeros.storage().mark_constant();
    arg = add(tape, arg, zeros);
  };
  grow(x);
  grow(step);
  return tape.apply_one(kUnsteady, {std::move(x), std::move(step)});
}

Value fail_once(Tape& tape, Arg x) { return tape.apply_one(kFail, {std::move(x)}); }

}  // namespace reprise::conform
