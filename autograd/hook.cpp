#include "autograd/hook.h"

#include "autograd/array.h"

namespace reprise {

namespace {

void infer(InferContext& c) { c.result(0, c.dtype(0), c.shape(0)); }

void forward(ForwardContext& c) { copy_strided(c.in(0), c.out(0)); }

/// The node carries the hook's address in its attribute.
void backward(BackwardContext& c) {
  const auto* body = reinterpret_cast<const GradientHook*>(static_cast<std::intptr_t>(c.attrs->integer(0)));
  (*body)(c.grad_out(0));
  const TensorView& to = c.grad(0);
  if (to.data != c.grad_out(0).data) copy_strided(c.grad_out(0), to);
}

const Op kHook{.name = "hook",
               .about = "the same numbers; host code runs when their gradient is complete",
               .inputs = {"x"},
               .outputs = {"out"},
               .attrs = {{"body", AttrKind::address}},
               .saves = {{"x", {}}},
               .grad_reuse = {{"out", "x"}},
               .effect = true,
               .fails_first = true,
               .infer = infer,
               .forward = forward,
               .backward = backward};

}  // namespace

Value hook(Tape& tape, Arg x, const GradientHook& body) {
  return tape.apply_one(kHook, {std::move(x)},
                        Attrs().add(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&body))));
}

}  // namespace reprise
