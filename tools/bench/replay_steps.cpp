// Segments in chains of tiny ops and in whole steps: marked, replayed, counted.
#include <fmt/format.h>

#include <algorithm>

#include "autograd/replayer.h"
#include "core/error.h"
#include "ops/arithmetic.h"
#include "ops/unary.h"
#include "recompute/methods.h"
#include "tools/bench/replay_costs.h"
#include "tools/bench/step_run.h"

namespace reprise::bench {
namespace {

constexpr int kChain = 1000;

/// What the links of a chain on 64 floats are. Backward formulas of the first need no values, so a replay runs nothing;
/// every second formula of the other needs one.
enum class Links : std::uint8_t { mul_and_add, relu_and_add };

/// A chain, whole or in segments.
class ChainRun {
 public:
  ChainRun(Links links, Method method, int segments)
      : kind_(links), segments_(segments), policy_(make_policy(method)), tape_(memory_) {
    tape_.set_policy(policy_.get());
    tape_.set_replayer(&replayer_);
    leaf_ = Leaf::create(
        "x", make_tensor(memory_.allocator(), memory_.observer(), DType::f32, {64}, Category::parameters, true));
  }

  Elapsed forward_and_backward() {
    leaf_->clear_grad();
    Value x;
    Elapsed elapsed = timed([&] {
      x = mul(tape_, leaf_, 1.0);
      for (int i = 0; i < std::max(segments_, 1); ++i) {
        if (segments_ == 0)
          x = links(std::move(x), kChain);
        else
          x = segment(tape_, "chain", [&] { return links(std::move(x), kChain / segments_); });
      }
      tape_.backward(x);
    });
    x = Value();
    tape_.clear();
    return elapsed;
  }

 private:
  Value links(Value x, int count) {
    for (int i = 0; i < count; ++i) {
      if (i % 2)
        x = add(tape_, x, 1e-6);
      else
        x = kind_ == Links::mul_and_add ? mul(tape_, x, 1.0001) : relu(tape_, x);
    }
    return x;
  }

  Links kind_;
  int segments_;
  Memory memory_;
  TraceReplayer replayer_;
  std::unique_ptr<SegmentPolicy> policy_;
  Tape tape_;
  LeafRef leaf_;
};

/// Times the replays that another replayer does.
class TimedReplayer final : public Replayer {
 public:
  void replay(Tape& tape, std::uint32_t segment) override {
    const SegmentInstance& instance = tape.data().segments[segment];
    needed.insert(needed.end(), instance.needed.begin(), instance.needed.end());
    for (std::uint32_t node : instance.needed) forward_seconds += node_seconds[node];
    replay_seconds += timed([&] { inner_.replay(tape, segment); }).cpu;
  }
  void restore_run(Tape& tape, std::uint32_t segment) override { inner_.restore_run(tape, segment); }

  std::vector<double> node_seconds;   // of each node of the step, in its forward
  std::vector<std::uint32_t> needed;  // nodes that were replayed
  double forward_seconds = 0, replay_seconds = 0;

 private:
  TraceReplayer inner_;
};

/// One forward; the seconds that each of its nodes took.
Value timed_forward(StepRun& run, std::vector<double>& node_seconds) {
  double last = cpu_seconds();
  run.tape().set_node_hook([&](std::uint32_t node) {
    double now = cpu_seconds();
    node_seconds.resize(node + 1, 0.0);
    node_seconds[node] = now - last;
    last = cpu_seconds();
  });
  Value loss = run.forward();
  run.tape().set_node_hook(nullptr);
  return loss;
}

struct ReplayRatios {
  double over_plain = 0;  // forwards of the same nodes in a step that keeps everything
  double over_own = 0;    // in the replayed step, whose forward writes over what it does not keep
};

/// Replays beside the forwards of exactly the same nodes.
ReplayRatios replay_over_forward(StepRun& plain, StepRun& replayed) {
  std::vector<double> kept;
  Value loss = timed_forward(plain, kept);
  plain.finish(loss);
  loss = Value();
  TimedReplayer replayer;
  Replayer* before = replayed.tape().replayer();
  loss = timed_forward(replayed, replayer.node_seconds);
  replayed.tape().set_replayer(&replayer);
  replayed.finish(loss);
  replayed.tape().set_replayer(before);
  double plain_seconds = 0;
  for (std::uint32_t node : replayer.needed) plain_seconds += kept.at(node);
  return {replayer.replay_seconds / plain_seconds, replayer.replay_seconds / replayer.forward_seconds};
}

struct Counts {
  double nodes = 0, announcements = 0, obligations = 0;
};

/// Of one step: nodes of the tape, writes announced by ops, gradients and optimiser, reads that were owed.
Counts count_contracts(StepRun& run) {
  Counts counts;
  std::int64_t before = run.memory().preserver().ever().reads;
  Value loss = run.forward();
  for (const NodeRecord& node : run.tape().data().nodes) {
    ++counts.nodes;
    counts.announcements += node.updates;
    for (int i = 0; i < node.inputs; ++i) {
      if (run.tape().data().operands[node.first_operand + i].kind == OperandKind::leaf) ++counts.announcements;
    }
  }
  // The optimiser announces parameter, momentum and average of each; the loader its slots.
  counts.announcements += 3.0 * static_cast<double>(run.model().parameters().parameters().size()) + 3;
  run.finish(loss);
  counts.obligations = static_cast<double>(run.memory().preserver().ever().reads - before);
  return counts;
}

void add_share(const BenchOptions& options, Report& report, const ContractCosts& costs, StepRun& run,
               double step_seconds, const char* name) {
  Counts counts = count_contracts(run);
  double ns =
      counts.nodes * costs.node + counts.announcements * costs.announcement + counts.obligations * costs.obligation;
  Samples share;
  share.add(100 * ns * 1e-9 / step_seconds);
  report.add(
      {.what = fmt::format("contracts of a {} step, {}", options.preset, name),
       .unit = "%",
       .ours = share,
       .target = "1 % of the step",
       .note = fmt::format("{:.0f} nodes x {:.0f} ns, {:.0f} announcements x {:.0f} ns, {:.0f} obligations x {:.0f} ns",
                           counts.nodes, costs.node, counts.announcements, costs.announcement, counts.obligations,
                           costs.obligation)});
}

/// What checkpointing costs the peer: chain of mul and add in 10 segments over the chain without.
double peer_chain_ratio(const BenchOptions& options) {
  Json printed = options.peer.run("overhead.py", {"--ops", "1000", "--reps", "3", "--peers", "torch"});
  return number_at(printed, "overhead.py", {"results", "torch_1000", "ckpt_over_plain"});
}

/// Its channels-last step with each residual block checkpointed over the step without, by CPU time.
double peer_step_ratio(const BenchOptions& options) {
  std::vector<std::string> words = step_words(options);
  words.insert(words.end(), {"--modes", "cl,cl_ckpt", "--rounds", "3", "--no-memory"});
  Json printed = options.peer.run("cifar_step.py", words);
  const Json& mode = item_at(printed, "cifar_step.py", {"modes", "cl_ckpt"});
  if (!mode.contains("ckpt_cpu_ratio"))
    fail(ErrorKind::user, "[bench] the peer could not run its mode cl_ckpt: {}", mode.dump());
  return number_at(mode, "cifar_step.py", {"ckpt_cpu_ratio"});
}

Samples one(double value) {
  Samples samples;
  samples.add(value);
  return samples;
}

}  // namespace

void add_chain_costs(const BenchOptions& options, Report& report, ContractCosts& costs) {
  int rounds = options.rounds_or(30), repeats = options.quick ? 1 : 5;
  for (Links links : {Links::mul_and_add, Links::relu_and_add}) {
    ChainRun plain(links, Method::retain, 0), marked(links, Method::retain, 10), replayed(links, Method::whole, 10);
    Samples plain_us, marked_us, replayed_us, peer;
    bool same_as_peer = options.peer.asked() && links == Links::mul_and_add;
    for (int i = -1; i < rounds; ++i) {  // the first round warms
      for (auto [run, samples] :
           {std::pair{&plain, &plain_us}, std::pair{&marked, &marked_us}, std::pair{&replayed, &replayed_us}}) {
        Samples each;
        for (int k = 0; k < repeats; ++k) each.add(1e6 * run->forward_and_backward().cpu / kChain);
        if (i >= 0) samples->add(each.median());
      }
      if (i >= 0 && same_as_peer) peer.add(peer_chain_ratio(options));
    }
    bool needs_values = links == Links::relu_and_add;
    costs.node = std::max(costs.node, 1e3 * plain_us.median());
    report.add({.what = fmt::format("chain of 1,000 tiny ops ({}), per op", needs_values ? "relu, add" : "mul, add"),
                .unit = "us",
                .ours = plain_us,
                .note = "forward and backward"});
    report.add({.what = "the same in 10 segments, retain / no segments",
                .unit = "x",
                .ours = ratios(marked_us, plain_us),
                .target = "1.03",
                .show_upper_limit = true});
    report.add({.what = "the same in 10 replayed segments / no segments",
                .unit = "x",
                .ours = ratios(replayed_us, plain_us),
                .peer = peer,
                .target = "1.7",
                .note = needs_values ? "" : "no formula needs a value, so none is replayed",
                .show_upper_limit = true});
  }
}

void add_step_costs(const BenchOptions& options, Report& report, const ContractCosts& costs) {
  StepRun plain(step_config(options, "retain", "none")), marked(step_config(options, "retain", "blocks")),
      replayed(step_config(options, "whole", residual_blocks(options)));
  Samples plain_s, marked_s, replayed_s, replay, replay_own, peer;
  int rounds = options.rounds_or(30);
  for (int i = 0; i < rounds; ++i) {
    if (i == 0 || options.peer.asked())  // untimed, as in bench_ops.cpp
      for (StepRun* run : {&plain, &marked, &replayed}) run->step();
    plain_s.add(timed([&] { plain.step(); }).cpu);
    marked_s.add(timed([&] { marked.step(); }).cpu);
    replayed_s.add(timed([&] { replayed.step(); }).cpu);
    ReplayRatios over = replay_over_forward(plain, replayed);
    replay.add(over.over_plain);
    replay_own.add(over.over_own);
    if (options.peer.asked()) peer.add(peer_step_ratio(options));
  }
  auto plain_peak = static_cast<double>(plain.peak_of_a_step()),
       marked_peak = static_cast<double>(marked.peak_of_a_step());
  auto replayed_peak = static_cast<double>(replayed.peak_of_a_step());
  std::string step = fmt::format("{} step", options.preset);
  report.add({.what = step + ", CPU time", .unit = "ms", .ours = plain_s.scaled(1e3)});
  report.add({.what = step + ", blocks marked, retain / no segments",
              .unit = "x",
              .ours = ratios(marked_s, plain_s),
              .target = "1.03",
              .show_upper_limit = true});
  report.add({.what = step + ", the same, live peak",
              .unit = "x",
              .ours = one(marked_peak / plain_peak),
              .target = "1, equal in bytes"});
  report.add({.what = step + ", a replayed segment / the same nodes in forward",
              .unit = "x",
              .ours = replay,
              .target = "1.05",
              .note = "of a step without recompute",
              .show_upper_limit = true});
  report.add({.what = step + ", the same / its own forward",
              .unit = "x",
              .ours = replay_own,
              .note = "which writes over what it does not keep"});
  report.add({.what = step + ", every residual block replayed / without",
              .unit = "x",
              .ours = ratios(replayed_s, plain_s),
              .peer = peer,
              .target = "1.20",
              .show_upper_limit = true});
  report.add(
      {.what = step + ", the same, live peak", .unit = "x", .ours = one(replayed_peak / plain_peak), .target = "0.60"});
  add_share(options, report, costs, plain, plain_s.median(), "no segments");
  add_share(options, report, costs, replayed, plain_s.median(), "every residual block replayed");
}

}  // namespace reprise::bench
