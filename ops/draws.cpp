// uniform, normal, dropout. dropout's backward draws its numbers again: no mask is stored.
#include "ops/draws.h"

#include <cmath>

#include "core/parallel.h"
#include "ops/dropout_loop.h"
#include "ops/kernels.h"
#include "ops/philox_fill.h"

namespace reprise {

namespace {

constexpr std::int64_t kWords = 1024;  // drawn at a time, on the stack
constexpr std::int64_t kDrawGrain = 8 * kWords;

/// Calls body(words, first element, count) for stretches of at most kWords elements that start at multiples of kWords.
template <class Body>
void for_each_stretch(const DrawRange& draw, std::int64_t size, const Body& body) {
  parallel_blocks(size, kDrawGrain, [&](std::int64_t begin, std::int64_t end) {
    std::uint32_t words[kWords + 1];  // one more, to make up the last pair of normal numbers
    for (; begin < end; begin += kWords) {
      std::int64_t n = std::min(kWords, end - begin);
      fill_words(draw, static_cast<std::uint64_t>(begin), n + n % 2, words);
      body(words, begin, n);
    }
  });
}

std::vector<AttrSpec> draw_attrs() { return {{"dtype", AttrKind::integer}, {"shape", AttrKind::dims}}; }

std::int64_t infer_shape(InferContext& c) {
  auto dtype = static_cast<DType>(c.attrs().integer(0));
  Shape shape = c.attrs().dims(1);
  if (!is_compute_float(dtype)) {
    fail(ErrorKind::user, "[{}] expected f32 or f64, got {}", c.op().name, to_string(dtype));
  }
  for (std::int64_t d : shape) {
    if (d < 0) fail(ErrorKind::user, "[{}] expected extents of at least 0, got {}", c.op().name, to_string(shape));
  }
  c.result(0, dtype, shape);
  return element_count(shape);
}

void infer_uniform(InferContext& c) { c.draws(infer_shape(c)); }

void forward_uniform(ForwardContext& c) {
  dispatch_float(c.out(0).dtype, [&]<class T>() {
    for_each_stretch(c.draw, c.out(0).size(), [&](const std::uint32_t* words, std::int64_t first, std::int64_t n) {
      T* out = c.out(0).as<T>() + first;
      for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(uniform_from_word(words[i]));
    });
  });
}

void infer_normal(InferContext& c) {
  std::int64_t n = infer_shape(c);
  c.draws(n + n % 2);
}

void forward_normal(ForwardContext& c) {
  dispatch_float(c.out(0).dtype, [&]<class T>() {
    for_each_stretch(c.draw, c.out(0).size(), [&](const std::uint32_t* words, std::int64_t first, std::int64_t n) {
      T* out = c.out(0).as<T>() + first;
      for (std::int64_t i = 0; i < n; i += 2) {
        auto [a, b] = normal_pair(words[i], words[i + 1]);
        out[i] = static_cast<T>(a);
        if (i + 1 < n) out[i + 1] = static_cast<T>(b);
      }
    });
  });
}

void infer_dropout(InferContext& c) {
  infer_same_float(c);
  double p = c.attrs().real(0);
  if (!(p >= 0.0 && p < 1.0)) fail(ErrorKind::user, "[dropout] expected a probability in [0, 1), got {}", p);
  c.draws(element_count(c.shape(0)));
}

// Forward and backward alike: kept elements are scaled, the others become 0.
void drop(const DrawRange& draw, double p, const TensorView& from, const TensorView& to) {
  // u >= p for u = (word >> 8) * 2^-24 means that the integer is at least p * 2^24: exact, and no float per word.
  auto threshold = static_cast<std::uint32_t>(std::ceil(p * 16777216.0));
  dispatch_float(to.dtype, [&]<class T>() {
    T scale = static_cast<T>(1.0 / (1.0 - p));
    if constexpr (std::is_same_v<T, float>) {
      parallel_blocks(to.size(), kDrawGrain, [&](std::int64_t begin, std::int64_t end) {
        drop_floats(draw, static_cast<std::uint64_t>(begin), end - begin, threshold, scale, from.as<T>() + begin,
                    to.as<T>() + begin);
      });
      return;
    }
    for_each_stretch(draw, to.size(), [&](const std::uint32_t* words, std::int64_t first, std::int64_t n) {
      const T* x = from.as<T>() + first;
      T* y = to.as<T>() + first;
      for (std::int64_t i = 0; i < n; ++i) y[i] = (words[i] >> 8) >= threshold ? x[i] * scale : T(0);
    });
  });
}

void forward_dropout(ForwardContext& c) { drop(c.draw, c.attrs->real(0), c.in(0), c.out(0)); }
void backward_dropout(BackwardContext& c) { drop(c.draw, c.attrs->real(0), c.grad_out(0), c.grad(0)); }

Value draw(Tape& tape, const Op& op, Stream& stream, const Shape& shape, DType dtype) {
  return tape.apply_one(op, {}, Attrs().add(static_cast<int>(dtype)).add(shape), {.stream = &stream});
}

}  // namespace

const Op kUniform{.name = "uniform",
                  .about = "numbers of a stream in [0, 1)",
                  .inputs = {},
                  .outputs = {"out"},
                  .attrs = draw_attrs(),
                  .draws = true,
                  .infer = infer_uniform,
                  .forward = forward_uniform};

const Op kNormal{.name = "normal",
                 .about = "standard normal numbers of a stream",
                 .inputs = {},
                 .outputs = {"out"},
                 .attrs = draw_attrs(),
                 .draws = true,
                 .infer = infer_normal,
                 .forward = forward_normal};

const Op kDropout{.name = "dropout",
                  .about = "elements become 0 with probability p, the others are divided by 1 - p; keeps no mask",
                  .inputs = {"x"},
                  .outputs = {"out"},
                  .attrs = {{"p", AttrKind::real}},
                  .saves = {{"x", {}}},
                  .reuse = {{"x", "out"}},
                  .grad_reuse = {{"out", "x"}},
                  .draws = true,
                  .fails_first = true,
                  .infer = infer_dropout,
                  .forward = forward_dropout,
                  .backward = backward_dropout};

Value uniform(Tape& tape, Stream& stream, const Shape& shape, DType dtype) {
  return draw(tape, kUniform, stream, shape, dtype);
}
Value normal(Tape& tape, Stream& stream, const Shape& shape, DType dtype) {
  return draw(tape, kNormal, stream, shape, dtype);
}
Value dropout(Tape& tape, Stream& stream, Arg x, double p) {
  return tape.apply_one(kDropout, {std::move(x)}, Attrs().add(p), {.stream = &stream});
}

void register_draw_ops() {
  for (const Op* op : {&kUniform, &kNormal, &kDropout}) register_op(*op);
}

}  // namespace reprise
