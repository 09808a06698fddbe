// Optimisers over the parameters of the resnet18 preset, in one pass over memory each.
#include <fmt/format.h>

#include <functional>
#include <memory>

#include "models/layers/draws.h"
#include "models/registry.h"
#include "ops/optimiser.h"
#include "tools/bench/bench.h"
#include "tools/bench/step_run.h"

namespace reprise::bench {
namespace {

struct Case {
  std::string name, peer;
  double arrays;  // f32 arrays of all parameters that one pass reads or writes
  std::function<void()> run;
  Samples ms, peer_ms;
};

/// Parameters and gradients of a model, with two state tensors and an average each.
class Slots {
 public:
  explicit Slots(const Config& config) : model_(make_model(config)) {
    model_->allocate(memory_);
    ParameterSet& set = model_->parameters();
    count_ = set.element_count();
    state_ = set.allocate_like(memory_, 3);
    for (std::size_t i = 0; i < set.parameters().size(); ++i) {
      const Parameter& parameter = *set.parameters()[i];
      fill_normal(parameter.leaf->grad, {"bench", i + 1});
      parameter.leaf->grad_empty = false;
      sgd_.push_back({.parameter = parameter.leaf, .momentum = state_[0][i], .decay = true});
      adamw_.push_back({.parameter = parameter.leaf, .momentum = state_[0][i], .second = state_[1][i], .decay = true});
      ema_.push_back({state_[2][i], parameter.leaf->data});
      fused_.push_back({.parameter = parameter.leaf, .momentum = state_[0][i], .average = state_[2][i], .decay = true});
    }
  }

  std::vector<Case> cases() {
    std::string size = fmt::format("{:.1f}M parameters", static_cast<double>(count_) / 1e6);
    SgdOptions sgd{.lr = 1e-6, .momentum = 0.9, .weight_decay = 5e-4};
    AdamwOptions adamw{.lr = 1e-6, .weight_decay = 0};
    return {
        {"SGD momentum, " + size, "sgd momentum 11.5M params, fused", 5, [this, sgd] { sgd_step(sgd_, sgd); }, {}, {}},
        {"AdamW, " + size, "adam 11.5M params, fused", 7, [this, adamw] { adamw_step(adamw_, adamw); }, {}, {}},
        {"EMA, " + size, "ema 11.5M params, foreach_lerp", 3, [this] { ema_step(ema_, 0.99); }, {}, {}},
        {"SGD momentum and EMA in one pass", "", 7, [this, sgd] { sgd_step(fused_, sgd); }, {}, {}}};
  }
  double parameters() const { return static_cast<double>(count_); }

 private:
  Memory memory_;
  std::unique_ptr<TrainableModel> model_;
  std::int64_t count_ = 0;
  std::vector<std::vector<Tensor>> state_;
  std::vector<OptimiserSlot> sgd_, adamw_, fused_;
  std::vector<EmaSlot> ema_;
};

void peer_round(const BenchOptions& options, std::vector<Case>& cases) {
  Json printed =
      options.peer.run("ops.py", {"--threads", fmt::format("{}", options.threads), "--rounds", "1", "--batches", "64"});
  for (Case& c : cases) {
    for (const Json& row : list_at(printed, "ops.py", "rows")) {
      if (row.is_object() && row.value("op", Json()) == c.peer) c.peer_ms.add(number_at(row, "ops.py", {"fwd_ms"}));
    }
  }
}

}  // namespace

Report bench_optim(const BenchOptions& options) {
  if (options.peer.asked()) options.peer.require("ops.py");
  int rounds = options.rounds_or(10);
  BenchOptions sized = options;
  sized.preset = options.quick ? "small" : "resnet18";
  Limits limits = measure_limits(options.quick);
  Report report("optim: one step over all parameters, f32", header_of(options, rounds, &limits));
  Config config = step_config(sized, "retain", "none");
  Slots slots(config);
  std::vector<Case> cases = slots.cases();
  for (int i = 0; i < rounds; ++i) {
    if (i == 0 || options.peer.asked())  // untimed, as in bench_ops.cpp
      for (Case& c : cases) c.run();
    for (Case& c : cases) c.ms.add(1e3 * timed(c.run).wall);
    if (options.peer.asked()) peer_round(options, cases);
  }
  for (const Case& c : cases) {
    double bytes = c.arrays * 4.0 * slots.parameters();
    report.add({.what = c.name,
                .unit = "ms",
                .ours = c.ms,
                .bound = 1e3 * bytes / limits.bytes(),
                .bound_by = "bytes/s",
                .peer = c.peer_ms,
                .target = c.peer.empty() ? "" : "1.0 of the peer's fused, 70 % of a copy",
                .note = fmt::format("{:.1f} GB/s", bytes / (1e6 * c.ms.median()))});
  }
  report.remark(
      "Bytes: every array that a step reads or writes counts once each way; the limit is that many bytes at the "
      "fastest of copy, triad and update.");
  return report;
}

}  // namespace reprise::bench
