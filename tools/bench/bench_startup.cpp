// From the start of a fresh process to the end of its first step.
#include <fmt/format.h>

#include "models/layers/draws.h"
#include "ops/loss.h"
#include "ops/matmul.h"
#include "ops/optimiser.h"
#include "ops/unary.h"
#include "tools/bench/bench.h"
#include "tools/bench/scratch_folder.h"

namespace reprise::bench {
namespace {

struct Start {
  Samples wall, cpu, peak;  // s, s, MiB
  void add(const Child& child) {
    wall.add(child.wall);
    cpu.add(child.cpu);
    peak.add(child.peak_mib);
  }
};

Child train_one_step(const BenchOptions& options, const std::string& folder) {
  return run_self({"train", "--quiet", "run.dir=" + folder, "train.max_steps=1", "probe.epochs=0",
                   "data.synthetic.train=200", "data.synthetic.test=100", fmt::format("threads={}", options.threads),
                   "train.batch=32"});
}

}  // namespace

void first_step() {
  Memory memory;
  Tape tape(memory);
  std::uint64_t seed = 0;
  std::vector<OptimiserSlot> slots;
  auto state = [&](const Shape& shape, Category category) {
    return make_tensor(memory.allocator(), memory.observer(), DType::f32, shape, category, true);
  };
  auto parameter = [&](const Shape& shape) {
    Tensor data = state(shape, Category::parameters);
    fill_normal(data, {"bench", ++seed});
    LeafRef leaf = Leaf::create("parameter", data, state(shape, Category::gradients));
    slots.push_back({.parameter = leaf, .momentum = state(shape, Category::optimiser)});
    return leaf;
  };
  LeafRef w1 = parameter({64, 64}), b1 = parameter({64}), w2 = parameter({10, 64}), b2 = parameter({10});
  Tensor x = state({32, 64}, Category::data);
  fill_normal(x, {"bench", ++seed});
  Tensor labels = make_tensor(memory.allocator(), memory.observer(), DType::i64, {32}, Category::data, true);
  Value hidden = relu(tape, linear(tape, x, w1, b1));
  Value loss = softmax_cross_entropy(tape, linear(tape, hidden, w2, b2), labels);
  tape.backward(loss);
  sgd_step(slots, {.lr = 0.1, .momentum = 0.9});
}

Report bench_startup(const BenchOptions& options) {
  if (options.peer.asked()) options.peer.require("startup.py");
  int rounds = options.rounds_or(10);
  Report report("startup: fresh processes, from start to end", header_of(options, rounds, nullptr));
  ScratchFolder scratch;
  Start step, train, peer;
  for (int i = 0; i < rounds; ++i) {
    step.add(run_self({"bench", "startup", "--first-step", "--threads", fmt::format("{}", options.threads)}));
    train.add(train_one_step(options, (scratch / fmt::format("{}", i)).string()));
    if (!options.peer.asked()) continue;
    Json printed = options.peer.run("startup.py", {"--reps", "1"});
    const Json& found = item_at(printed, "startup.py", {"results", "torch to first step"});
    peer.wall.add(number_at(found, "startup.py", {"wall_s"}));
    peer.cpu.add(number_at(found, "startup.py", {"cpu_s"}));
    peer.peak.add(number_at(found, "startup.py", {"max_rss_mib"}));
  }
  report.add({.what = "first step of a linear classifier, time",
              .unit = "s",
              .ours = step.wall,
              .peer = peer.wall,
              .target = "0.10 of the peer"});
  report.add({.what = "first step of a linear classifier, CPU", .unit = "s", .ours = step.cpu, .peer = peer.cpu});
  report.add({.what = "first step of a linear classifier, memory",
              .unit = "MiB",
              .ours = step.peak,
              .peer = peer.peak,
              .target = "0.25 of the peer"});
  report.add({.what = "train.max_steps=1, time",
              .unit = "s",
              .ours = train.wall,
              .peer = peer.wall,
              .note = "the whole command: images made, model small, batch 32, checkpoint, summary"});
  report.add({.what = "train.max_steps=1, memory", .unit = "MiB", .ours = train.peak, .peer = peer.peak});
  report.remark(
      "The peer imports torch and does the same first step of a linear classifier (64, 64, 10; batch 32; SGD with "
      "momentum).");
  return report;
}

}  // namespace reprise::bench
