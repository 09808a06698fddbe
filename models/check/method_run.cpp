#include "models/check/method_run.h"

#include <bit>
#include <chrono>

#include "core/byte_hash.h"
#include "core/interrupt.h"
#include "models/train/batches.h"
#include "models/train/learning_rate.h"
#include "models/train/method.h"
#include "models/train/optimiser.h"
#include "models/train/step_planner.h"
#include "models/train/watch_states.h"

namespace reprise {
namespace {

std::uint64_t hash_view(const TensorView& view) {
  return hash_bytes(view.data, static_cast<std::size_t>(view.bytes()));
}

/// Takes down what each formula hands back.
class GradientLog final : public TapeObserver {
 public:
  explicit GradientLog(std::vector<NodeMark>& marks) : marks_(marks) {}
  void after_backward(const Tape& tape, std::uint32_t index, std::span<const TensorView> gradients) override {
    const NodeRecord& node = tape.data().nodes[index];
    std::uint64_t hash = 0;
    for (const TensorView& gradient : gradients) {
      if (gradient.defined()) hash = hash * 0x9E3779B97F4A7C15u + hash_view(gradient);
    }
    marks_.push_back({index, node.op->name, node.label ? node.label : "", hash});
  }

 private:
  std::vector<NodeMark>& marks_;
};

class CheckedRun {
 public:
  CheckedRun(const Config& config, const Dataset& data, const std::shared_ptr<const Plan>& plan)
      : config_(config),
        session_(config),
        marks_(config, session_.model->segment_names()),
        recompute_(config, marks_, plan),
        optimiser_(config, *session_.model, session_.memory),
        batches_(*session_.model, data.train, loader_options(config, *session_.model), session_.memory),
        schedule_(config, 1000, 100),
        tape_(session_.memory, {.guard = config.get_string("guard") == "on"}),
        planner_(config, plan) {
    recompute_.install(tape_, session_.memory);
  }

  MethodMarks go(int steps) {
    MethodMarks marks;
    session_.memory.meter().reset_peak();
    auto start = std::chrono::steady_clock::now();
    for (int step = 0; step < steps; ++step) marks.steps.push_back(one_step(step));
    marks.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    marks.peak_bytes = session_.memory.meter().peak();
    return marks;
  }

 private:
  StepMarks one_step(int step) {
    StepMarks marks;
    GradientLog log(marks.nodes);
    std::int64_t level = session_.memory.meter().live(), accumulate = config_.get_int("train.accumulate");
    optimiser_.clear_gradients();
    tape_.set_observer(&log);
    for (std::int64_t i = 0; i < accumulate; ++i) {
      if (stop_requested()) throw Interrupted{"checking"};
      const Batch& batch = batches_.next();
      tape_.follow(&planner_.schedule(session_.model->host_state()));
      watch_states(tape_, *session_.model, optimiser_);
      EffectLog effects(tape_, *session_.model, marks.effects);
      Forward forward = session_.model->forward(tape_, batch, marks_);
      marks.loss += forward.loss.item() / static_cast<double>(accumulate);
      tape_.backward(forward.loss);
      effects.count_runs();
      forward = {};
      tape_.clear();
    }
    tape_.set_observer(nullptr);
    marks.left_over = session_.memory.meter().live() - level;
    for (const Parameter* p : session_.model->parameters().parameters()) {
      marks.gradients.push_back({p->name, p->leaf->grad_empty ? 0 : hash_tensor(p->leaf->grad)});
    }
    optimiser_.step(step + 1, schedule_(step), accumulate);
    session_.model->after_step();
    std::vector<NamedTensor> all = session_.model->tensors();
    optimiser_.list(all);
    for (const NamedTensor& named : all) marks.states.push_back({named.name, hash_tensor(named.tensor)});
    for (const Stream* stream : session_.model->streams()) marks.streams.push_back({stream->name, stream->position});
    return marks;
  }

  const Config& config_;
  ModelSession session_;
  SegmentMarks marks_;
  RecomputeSetup recompute_;
  Optimiser optimiser_;
  Batches batches_;
  LearningRate schedule_;
  Tape tape_;
  StepPlanner planner_;
};

/// `maker` says of a thing that differs which op made it; null where that cannot be had.
using Maker = std::string (*)(const std::string& name, const EffectMarks& expected, const EffectMarks& found);

std::string differing(const char* what, const std::vector<Mark>& expected, const std::vector<Mark>& found,
                      const StepMarks& expected_step, const StepMarks& found_step, Maker maker) {
  for (std::size_t i = 0; i < expected.size() && i < found.size(); ++i) {
    const std::string& name = expected[i].name;
    if (expected[i] == found[i]) continue;
    return fmt::format("{} of {}{}", what, name,
                       maker ? maker(name, expected_step.effects, found_step.effects) : std::string());
  }
  return expected.size() == found.size() ? "" : fmt::format("number of {}s", what);
}

std::string differing_node(const std::vector<NodeMark>& expected, const std::vector<NodeMark>& found) {
  for (std::size_t i = 0; i < expected.size() && i < found.size(); ++i) {
    const NodeMark &a = expected[i], &b = found[i];
    if (a.node == b.node && a.op == b.op && a.hash == b.hash) continue;
    return "the gradient made by " + node_text(b.op, b.node, b.segment);
  }
  return expected.size() == found.size() ? "" : "number of nodes differentiated";
}

std::string differing_step(const StepMarks& a, const StepMarks& b) {
  std::string effect = differing_effect(a.effects, b.effects);
  if (std::bit_cast<std::uint64_t>(a.loss) != std::bit_cast<std::uint64_t>(b.loss)) {
    return fmt::format("loss {} instead of {}{}", b.loss, a.loss,
                       effect.empty() ? "" : "; in the log of effects, " + effect);
  }
  std::string text = differing_node(a.nodes, b.nodes);
  if (text.empty()) text = differing("gradient", a.gradients, b.gradients, a, b, nullptr);
  if (text.empty()) text = differing("state", a.states, b.states, a, b, writer_of);
  if (text.empty()) text = differing("position", a.streams, b.streams, a, b, drawer_of);
  if (text.empty() && !effect.empty()) text = "log of effects: " + effect;
  if (text.empty() && b.left_over != 0) text = fmt::format("{} bytes are still live after it", b.left_over);
  return text;
}

/// Memory that makes every op of a guarded step slow, and the check no sharper.
void make_small(Config& config) {
  Schema schema = standard_schema();
  const ModelType* type = schema.find_model_type(config.get_string("model.type"));
  if (!type) return;
  for (const ModelType::Default& most : type->guarded) {
    std::int64_t value = std::get<std::int64_t>(most.value);
    if (config.get_int(most.key) > value) config.set(most.key, value, "check");
  }
}

}  // namespace

Config with_settings(const Config& config, const MethodSettings& settings) {
  Config copy = config;
  copy.set("recompute.method", std::string(settings.method), "check");
  copy.set("recompute.plan", std::string(), "check");
  if (!settings.segments || needs_plan(copy)) copy.set("recompute.options", WordMap{}, "check");
  if (!settings.segments) copy.set("recompute.segments", Words{"none"}, "check");
  if (settings.segments && copy.get_list("recompute.segments") == Words{"none"})
    copy.set("recompute.segments", Words{"blocks"}, "check");
  if (settings.batch > 0) copy.set("train.batch", std::int64_t{settings.batch}, "check");
  if (settings.guard) make_small(copy);
  copy.set("guard", std::string(settings.guard ? "on" : "off"), "check");
  return copy;
}

MethodMarks run_method(const Config& config, const Dataset& data, const MethodSettings& settings) {
  Config own = with_settings(config, settings);
  return CheckedRun(own, data, settings.plan).go(settings.steps);
}

std::string first_difference(const MethodMarks& expected, const MethodMarks& found) {
  for (std::size_t s = 0; s < expected.steps.size() && s < found.steps.size(); ++s) {
    std::string text = differing_step(expected.steps[s], found.steps[s]);
    if (!text.empty()) return fmt::format("step {}: {}", s + 1, text);
  }
  return expected.steps.size() == found.steps.size() ? "" : "number of steps";
}

}  // namespace reprise
