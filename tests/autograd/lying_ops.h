// Ops whose contracts lie, each in one way, for the tests of guard and op checks. All but the lie are y = 2 x.
// Where a lie needs another storage or a stream, the test puts it into `hidden` before it applies the op.
#pragma once

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise::lying {

struct Hidden {
  float* data = nullptr;
  Stream* stream = nullptr;
  int calls = 0;
  float saved = 0;
};
inline Hidden hidden;

inline void infer(InferContext& c) { c.result(0, c.dtype(0), c.shape(0)); }

template <class F>
void doubled(const TensorView& from, const TensorView& to, F f) {
  dispatch_float(from.dtype, [&]<class T>() {
    for (std::int64_t i = 0; i < from.size(); ++i) to.as<T>()[i] = f(i, from.as<T>()[i] * 2);
  });
}

inline void honest_forward(ForwardContext& c) {
  doubled(c.in(0), c.out(0), [](std::int64_t, auto y) { return y; });
}
inline void honest_backward(BackwardContext& c) {
  doubled(c.grad_out(0), c.grad(0), [](std::int64_t, auto g) { return g; });
}

inline Op op_named(const char* name) {
  return {.name = name,
          .about = "twice x, with a contract that lies",
          .inputs = {"x"},
          .outputs = {"y"},
          .saves = {{"x", {}}},
          .infer = infer,
          .forward = honest_forward,
          .backward = honest_backward};
}

inline Op with_forward(const char* name, void (*forward)(ForwardContext&)) {
  Op op = op_named(name);
  op.forward = forward;
  return op;
}

inline Op with_backward(const char* name, void (*backward)(BackwardContext&)) {
  Op op = op_named(name);
  op.backward = backward;
  return op;
}

inline const Op kHonest = op_named("honest");
inline const Op kWritesInput = with_forward("writes_input", [](ForwardContext& c) {
  honest_forward(c);
  dispatch_float(c.in(0).dtype, [&]<class T>() { c.in(0).as<T>()[1] += 1; });
});
inline const Op kWritesHidden = with_forward("writes_hidden", [](ForwardContext& c) {
  honest_forward(c);
  if (hidden.data) hidden.data[2] = 7;
});
inline const Op kReadsHidden = with_forward("reads_hidden", [](ForwardContext& c) {
  doubled(c.in(0), c.out(0), [](std::int64_t, auto y) { return y + (hidden.data ? hidden.data[0] : 0); });
});
inline const Op kTakesNumbers = with_forward("takes_numbers", [](ForwardContext& c) {
  honest_forward(c);
  if (hidden.stream) hidden.stream->take(3);
});
inline const Op kNeverTheSame = with_forward("never_the_same", [](ForwardContext& c) {
  ++hidden.calls;
  doubled(c.in(0), c.out(0), [](std::int64_t, auto y) { return y + hidden.calls; });
});
inline const Op kLeavesOneOut = with_forward("leaves_one_out", [](ForwardContext& c) {
  dispatch_float(c.in(0).dtype, [&]<class T>() {
    for (std::int64_t i = 0; i + 1 < c.in(0).size(); ++i) c.out(0).as<T>()[i] = c.in(0).as<T>()[i] * 2;
  });
});
/// The derivative of x * x, which needs x; .saves names nothing.
inline const Op kSavesTooFew = [] {
  Op op = op_named("saves_too_few");
  op.forward = [](ForwardContext& c) {
    dispatch_float(c.in(0).dtype, [&]<class T>() {
      for (std::int64_t i = 0; i < c.in(0).size(); ++i) c.out(0).as<T>()[i] = c.in(0).as<T>()[i] * c.in(0).as<T>()[i];
    });
  };
  op.backward = [](BackwardContext& c) {
    dispatch_float(c.grad_out(0).dtype, [&]<class T>() {
      for (std::int64_t i = 0; i < c.grad(0).size(); ++i)
        c.grad(0).as<T>()[i] = 2 * c.in(0).as<T>()[i] * c.grad_out(0).as<T>()[i];
    });
  };
  return op;
}();
inline const Op kGradientNotFilled = with_backward("gradient_not_filled", [](BackwardContext& c) {
  dispatch_float(c.grad_out(0).dtype, [&]<class T>() {
    for (std::int64_t i = 1; i < c.grad(0).size(); ++i) c.grad(0).as<T>()[i] = c.grad_out(0).as<T>()[i] * 2;
  });
});
inline const Op kBackwardWritesHidden = with_backward("backward_writes_hidden", [](BackwardContext& c) {
  honest_backward(c);
  if (hidden.data) hidden.data[0] += 1;
});
inline const Op kBackwardReadsHidden = with_backward("backward_reads_hidden", [](BackwardContext& c) {
  doubled(c.grad_out(0), c.grad(0), [](std::int64_t, auto g) { return g + (hidden.data ? hidden.data[0] : 0); });
});
inline const Op kWrongGradient = with_backward("wrong_gradient", [](BackwardContext& c) {
  doubled(c.grad_out(0), c.grad(0), [](std::int64_t, auto g) { return g * 1.5; });
});

/// Writes rows 0 and 2 of its update, and says that it writes row 0 only.
inline const Op kRegionTooSmall = [] {
  Op op{.name = "region_too_small",
        .about = "adds one to two elements",
        .inputs = {},
        .updates = {"to"},
        .infer = [](InferContext&) {},
        .forward =
            [](ForwardContext& c) {
              dispatch_float(c.update(0).dtype, [&]<class T>() {
                if (c.writes(0)) c.update(0).as<T>()[0] += 1, c.update(0).as<T>()[2] += 1;
              });
            }};
  op.region = [](const RegionContext& c, int index) {
    std::int64_t item = size_of(c.operand(index).dtype());
    return Region::span(0, item);
  };
  return op;
}();
/// Reads all of its input, and says that it reads the first element only.
inline const Op kReadsBeyondRegion = [] {
  Op op = op_named("reads_beyond_region");
  op.region = [](const RegionContext& c, int index) { return Region::span(0, size_of(c.operand(index).dtype())); };
  return op;
}();
/// Its output is the counter's old number, though it says that outputs ignore updates.
inline const Op kOutputFromUpdate = [] {
  Op op{.name = "output_from_update",
        .about = "a counter",
        .inputs = {},
        .updates = {"to"},
        .outputs = {"y"},
        .outputs_ignore_updates = true,
        .infer = [](InferContext& c) { c.result(0, c.dtype(0), c.shape(0)); },
        .forward =
            [](ForwardContext& c) {
              dispatch_float(c.update(0).dtype, [&]<class T>() {
                c.out(0).as<T>()[0] = c.update(0).as<T>()[0];
                if (c.writes(0)) c.update(0).as<T>()[0] += 1;
              });
            }};
  return op;
}();

}  // namespace reprise::lying
