// Single ops at the sizes of image encoders, forward and backward, and the cost per op of a long chain of tiny ops.
#include <fmt/format.h>

#include <functional>
#include <memory>

#include "autograd/array.h"
#include "core/stream.h"
#include "models/layers/draws.h"
#include "ops/arithmetic.h"
#include "ops/batch_norm.h"
#include "ops/conv2d.h"
#include "ops/draws.h"
#include "ops/loss.h"
#include "ops/matmul.h"
#include "tools/bench/bench.h"

namespace reprise::bench {
namespace {

struct Work {
  double flops = 0, bytes = 0;  // bytes that one pass over operands and results must move
};

/// One op with its operands. The name under which the peer's script reports the same is `peer`; what is wanted of
/// forward and backward together is `target`, "" for nothing.
struct Case {
  std::string name, peer, target;
  Work forward, backward;
  std::function<Value(Tape&)> apply;
  std::vector<LeafRef> leaves;
  Samples forward_ms, backward_ms, peer_forward, peer_backward;
};

class OpBench {
 public:
  explicit OpBench(const BenchOptions& options) : options_(options), tape_(memory_) {}

  void add_all();
  /// One round: every case once.
  void round(bool keep);
  void peer_round();
  void report(Report& report, const Limits& limits) const;

 private:
  std::int64_t small(std::int64_t usual, std::int64_t quick) const { return options_.quick ? quick : usual; }
  Tensor tensor(const Shape& shape, Category category = Category::parameters) {
    Tensor t = make_tensor(memory_.allocator(), memory_.observer(), DType::f32, shape, category);
    fill_normal(t, {"bench", ++seed_});
    return t;
  }
  LeafRef leaf(const Shape& shape) { return Leaf::create("x", tensor(shape)); }
  Tensor constant(const Shape& shape, double value) {
    Tensor t = make_tensor(memory_.allocator(), memory_.observer(), DType::f32, shape, Category::state);
    fill(t.view(), value);
    return t;
  }
  void add_conv(std::int64_t in, std::int64_t out, std::int64_t side, std::int64_t batch);
  void add_norm(std::int64_t channels, std::int64_t side, std::int64_t batch);
  void add_others();
  void run_case(Case& c, bool keep);
  double seed_seconds(const Value& value);

  const BenchOptions& options_;
  Memory memory_;
  Tape tape_;
  Stream stream_{"bench", 1, 1, 0};
  std::uint64_t seed_ = 0;
  std::vector<std::unique_ptr<Case>> cases_;
};

double floats(double count) { return 4.0 * count; }

void OpBench::add_conv(std::int64_t in, std::int64_t out, std::int64_t side, std::int64_t batch) {
  LeafRef x = leaf({batch, side, side, in}), w = leaf({out, in, 3, 3});
  double flops = 2.0 * 9.0 * static_cast<double>(batch * side * side * in * out);
  double bytes = floats(static_cast<double>(batch * side * side * (in + out) + 9 * in * out));
  auto c = std::make_unique<Case>();
  c->name = fmt::format("conv3x3 {}->{}@{} b{}", in, out, side, batch);
  c->peer = c->name + " cl";
  c->forward = {flops, bytes};
  c->backward = {2 * flops, 2 * bytes};
  c->apply = [x, w](Tape& t) { return conv2d(t, x, w, {}, {.padding = 1}); };
  c->leaves = {x, w};
  cases_.push_back(std::move(c));
}

void OpBench::add_norm(std::int64_t channels, std::int64_t side, std::int64_t batch) {
  LeafRef x = leaf({batch, side, side, channels});
  LeafRef gamma = Leaf::create("gamma", constant({channels}, 1)), beta = Leaf::create("beta", constant({channels}, 0));
  Tensor mean = constant({channels}, 0), var = constant({channels}, 1);
  double count = static_cast<double>(batch * side * side * channels);
  auto c = std::make_unique<Case>();
  c->name = fmt::format("bn+relu {}@{} b{}", channels, side, batch);
  c->peer = c->name + " cl";
  c->target = channels == 64 && side == 32 ? "0.50 of the peer" : "";
  c->forward = {0, floats(3 * count)};   // x for the sums, x again, y
  c->backward = {0, floats(5 * count)};  // x and dy for the sums, both again, dx
  c->apply = [=](Tape& t) { return batch_norm_relu(t, x, gamma, beta, mean, var); };
  c->leaves = {x, gamma, beta};
  cases_.push_back(std::move(c));
}

void OpBench::add_others() {
  std::int64_t rows = small(4096, 64);
  LeafRef x = leaf({rows, 512}), w = leaf({512, 512}), b = leaf({512});
  double flops = 2.0 * 512 * 512 * static_cast<double>(rows),
         bytes = floats(static_cast<double>(2 * rows * 512 + 512 * 512));
  auto linear_case = std::make_unique<Case>();
  *linear_case = {.name = fmt::format("linear 512->512 b{}", rows),
                  .peer = "linear 512->512 b4096",
                  .forward = {flops, bytes},
                  .backward = {2 * flops, 2 * bytes},
                  .apply = [=](Tape& t) { return linear(t, x, w, b); },
                  .leaves = {x, w, b}};
  cases_.push_back(std::move(linear_case));

  std::int64_t classes = small(65537, 257);
  LeafRef logits = leaf({128, classes});
  Tensor labels = make_tensor(memory_.allocator(), memory_.observer(), DType::i64, {128}, Category::data, true);
  double count = 128.0 * static_cast<double>(classes);
  auto loss_case = std::make_unique<Case>();
  *loss_case = {.name = fmt::format("cross_entropy 128x{}", classes),
                .peer = "cross_entropy 128x65537",
                .target = "0.35 of the peer",
                .forward = {0, floats(count)},
                .backward = {0, floats(2 * count)},
                .apply = [=](Tape& t) { return softmax_cross_entropy(t, logits, labels); },
                .leaves = {logits}};
  cases_.push_back(std::move(loss_case));

  std::int64_t side = small(2048, 64);
  LeafRef dropped = leaf({side, side});
  double square = static_cast<double>(side * side);
  auto dropout_case = std::make_unique<Case>();
  *dropout_case = {.name = fmt::format("dropout {0}x{0} p0.1", side),
                   .peer = "dropout 2048x2048 p0.1",
                   .target = "0.20 of the peer",
                   .forward = {0, floats(2 * square)},
                   .backward = {0, floats(2 * square)},
                   .apply = [this, dropped](Tape& t) { return dropout(t, stream_, dropped, 0.1); },
                   .leaves = {dropped}};
  cases_.push_back(std::move(dropout_case));
}

void OpBench::add_all() {
  std::int64_t batch = small(64, 2);
  for (auto [channels, side] :
       {std::pair{16, 32}, std::pair{64, 32}, std::pair{128, 16}, std::pair{256, 8}, std::pair{512, 4}}) {
    add_conv(channels, channels, side, batch);
  }
  for (auto [channels, side] :
       {std::pair{16, 32}, std::pair{64, 32}, std::pair{128, 16}, std::pair{256, 8}, std::pair{512, 4}}) {
    add_norm(channels, side, batch);
  }
  add_others();
}

/// The engine fills the first gradient with ones; the peer is handed its own. So that is timed apart and taken off.
double OpBench::seed_seconds(const Value& value) {
  return timed([&] {
           Tensor ones = make_tensor(memory_.allocator(), nullptr, DType::f32, value.shape(), Category::cotangents);
           fill(ones.view(), 1.0);
           keep(ones.view().data);
         })
      .wall;
}

void OpBench::run_case(Case& c, bool keep_it) {
  for (const LeafRef& leaf : c.leaves) {
    leaf->grad = Tensor();
    leaf->clear_grad();
  }
  Value y;
  double forward = timed([&] { y = c.apply(tape_); }).wall;
  double seed = seed_seconds(y);
  double backward = timed([&] { tape_.backward(y); }).wall - seed;
  y = Value();
  tape_.clear();
  if (!keep_it) return;
  c.forward_ms.add(1e3 * forward);
  c.backward_ms.add(1e3 * backward);
}

void OpBench::round(bool keep_it) {
  for (const auto& c : cases_) run_case(*c, keep_it);
}

void OpBench::peer_round() {
  Json printed = options_.peer.run(
      "ops.py", {"--threads", fmt::format("{}", options_.threads), "--rounds", "1", "--batches", "64"});
  for (const auto& c : cases_) {
    for (const Json& row : list_at(printed, "ops.py", "rows")) {
      if (!row.is_object() || row.value("op", Json()) != c->peer) continue;
      c->peer_forward.add(number_at(row, "ops.py", {"fwd_ms"}));
      c->peer_backward.add(number_at(row, "ops.py", {"bwd_ms"}));
    }
  }
}

struct Bound {
  double ms = 0;
  const char* by = "";
};

/// The larger of what arithmetic and memory need.
Bound bound_of(const Work& work, const Limits& limits) {
  double arithmetic = 1e3 * work.flops / limits.flops, memory = 1e3 * work.bytes / limits.bytes();
  return arithmetic > memory ? Bound{arithmetic, "FLOP/s"} : Bound{memory, "bytes/s"};
}

void OpBench::report(Report& report, const Limits& limits) const {
  for (const auto& c : cases_) {
    Bound forward = bound_of(c->forward, limits), backward = bound_of(c->backward, limits);
    report.add({.what = c->name + " forward",
                .unit = "ms",
                .ours = c->forward_ms,
                .bound = forward.ms,
                .bound_by = forward.by,
                .peer = c->peer_forward});
    report.add({.what = c->name + " backward",
                .unit = "ms",
                .ours = c->backward_ms,
                .bound = backward.ms,
                .bound_by = backward.by,
                .peer = c->peer_backward});
    if (c->target.empty()) continue;
    report.add({.what = c->name + " forward and backward",
                .unit = "ms",
                .ours = sums(c->forward_ms, c->backward_ms),
                .bound = forward.ms + backward.ms,
                .bound_by = forward.by,
                .peer = sums(c->peer_forward, c->peer_backward),
                .target = c->target});
  }
}

struct Chain {
  Samples forward, backward, peer_forward, peer_backward;  // us per op
};

/// Multiplications and additions of numbers in turn, on 64 floats.
void run_chain(Chain& chain, Tape& tape, const LeafRef& leaf, int ops) {
  leaf->clear_grad();
  Value x;
  double forward = timed([&] {
                     x = mul(tape, leaf, 1.0001);
                     for (int i = 1; i < ops; ++i) x = i % 2 ? add(tape, x, 1e-6) : mul(tape, x, 1.0001);
                   }).wall;
  double backward = timed([&] { tape.backward(x); }).wall;
  x = Value();
  tape.clear();
  chain.forward.add(1e6 * forward / ops);
  chain.backward.add(1e6 * backward / ops);
}

/// As the peer's script does: two chains that nobody times, then the median of three.
void chain_round(Chain& chain, Tape& tape, const LeafRef& leaf, int ops) {
  Chain untimed, timed;
  for (int i = 0; i < 2; ++i) run_chain(untimed, tape, leaf, ops);
  for (int i = 0; i < 3; ++i) run_chain(timed, tape, leaf, ops);
  chain.forward.add(timed.forward.median());
  chain.backward.add(timed.backward.median());
}

void chain_peer_round(const BenchOptions& options, Chain& chain) {
  const char* script = "overhead.py";
  Json printed = options.peer.run(script, {"--ops", "1000", "--reps", "3", "--peers", "torch"});
  chain.peer_forward.add(number_at(printed, script, {"results", "torch_1000", "fwd_us_per_op"}));
  chain.peer_backward.add(number_at(printed, script, {"results", "torch_1000", "bwd_us_per_op"}));
}

void add_chain(Report& report, const Chain& chain) {
  report.add({.what = "chain of 1,000 tiny ops, forward per op",
              .unit = "us",
              .ours = chain.forward,
              .peer = chain.peer_forward,
              .target = "0.10 of the peer, about 0.5 us"});
  report.add({.what = "chain of 1,000 tiny ops, backward per op",
              .unit = "us",
              .ours = chain.backward,
              .peer = chain.peer_backward,
              .target = "0.10 of the peer, about 0.8 us"});
}

}  // namespace

Report bench_ops(const BenchOptions& options) {
  if (options.peer.asked()) {
    options.peer.require("ops.py");
    options.peer.require("overhead.py");
  }
  int rounds = options.rounds_or(10);
  Limits limits = measure_limits(options.quick);
  Report report("ops: f32, channels last, forward and backward apart", header_of(options, rounds, &limits));
  OpBench bench(options);
  bench.add_all();
  Memory memory;
  Tape tape(memory);
  LeafRef leaf = Leaf::create(
      "x", make_tensor(memory.allocator(), memory.observer(), DType::f32, {64}, Category::parameters, true));
  Chain chain;
  for (int i = 0; i < rounds; ++i) {
    // Untimed, as the peer's script does: after a fork for the peer, first writes meet pages that were shared with it.
    if (i == 0 || options.peer.asked()) bench.round(false);
    bench.round(true);
    chain_round(chain, tape, leaf, 1000);
    if (!options.peer.asked()) continue;
    bench.peer_round();
    chain_peer_round(options, chain);
  }
  bench.report(report, limits);
  add_chain(report, chain);
  report.remark(
      "Backward: all gradients that training wants, less the time to fill the first gradient with ones, which the peer "
      "is handed.");
  report.remark(
      "Limit: the larger of FLOP/s and of the bytes that each operand and result must move once (batch norm: x twice "
      "forward, x and dy twice backward).");
  report.remark(
      "Above 100 % of FLOP/s an op does fewer operations than the plain count (Winograd); above 100 % of bytes/s its "
      "data stays in caches.");
  return report;
}

}  // namespace reprise::bench
