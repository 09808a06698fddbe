#include "tools/study/measured_run.h"

#include <xxhash.h>

#include <chrono>
#include <cmath>
#include <set>

#include "core/interrupt.h"
#include "core/philox.h"
#include "models/train/method.h"
#include "models/train/optimiser.h"
#include "models/train/session.h"
#include "models/train/step_planner.h"
#include "tools/bench/measure.h"

namespace reprise::study {
namespace {

/// A hash over names and bytes in the order given.
class NamedHash {
 public:
  NamedHash() : state_(XXH3_createState()) { XXH3_64bits_reset(state_); }
  ~NamedHash() { XXH3_freeState(state_); }
  NamedHash(const NamedHash&) = delete;
  NamedHash& operator=(const NamedHash&) = delete;

  void add(const std::string& name) { XXH3_64bits_update(state_, name.c_str(), name.size() + 1); }
  void add(const std::string& name, const Tensor& tensor) {
    add(name);
    tensor.storage().host_read();
    TensorView view = tensor.view();
    XXH3_64bits_update(state_, view.data, static_cast<std::size_t>(view.bytes()));
  }
  std::string text() const { return fmt::format("{:016x}", XXH3_64bits_digest(state_)); }

 private:
  XXH3_state_t* state_;
};

/// Images between -1 and 1, labels in turn.
void fill(Batch& batch) {
  constexpr std::int64_t kClasses = 100;
  std::uint64_t at = 0;
  for (Tensor& view : batch.views) {
    if (!view.defined()) continue;
    for (float& x : view.host_write<float>("study")) x = static_cast<float>(philox_word(1, 0, at++)) * 0x1p-31f - 1.0f;
  }
  if (!batch.labels.defined()) return;
  std::int64_t label = 0;
  for (std::int64_t& x : batch.labels.host_write<std::int64_t>("study")) x = label++ % kClasses;
}

class Steps {
 public:
  Steps(const Config& config, const std::shared_ptr<const Plan>& plan)
      : config_(config),
        session_(config),
        marks_(config, session_.model->segment_names()),
        recompute_(config, marks_, plan),
        optimiser_(config, *session_.model, session_.memory),
        tape_(session_.memory),
        planner_(config, plan) {
    recompute_.install(tape_, session_.memory);
    // All slots of the loader, so that what is live is what training holds.
    for (std::int64_t i = 0; i <= config.get_int("data.prefetch"); ++i) {
      slots_.push_back(make_dry_batch(config, *session_.model, session_.memory));
      fill(slots_.back());
    }
    session_.memory.meter().reset_peak();
  }

  /// One step; `gradients` (may be null) gets their hash, outside the time.
  bench::Elapsed step(std::string* gradients) {
    const Schedule* first = &planner_.schedule(session_.model->host_state());
    double loss = 0;
    std::int64_t accumulate = config_.get_int("train.accumulate");
    bench::Elapsed time = bench::timed([&] {
      optimiser_.clear_gradients();
      for (std::int64_t i = 0; i < accumulate; ++i) {
        tape_.follow(i == 0 ? first : &planner_.schedule(session_.model->host_state()));
        Forward forward = session_.model->forward(tape_, slots_[next_++ % slots_.size()], marks_);
        loss += forward.loss.item();
        tape_.backward(forward.loss);
        forward = {};
        tape_.clear();
      }
    });
    if (!std::isfinite(loss)) fail(ErrorKind::user, "[study] expected a finite loss, got {} in step {}", loss, steps_ + 1);
    if (gradients != nullptr) *gradients = gradient_hash();
    bench::Elapsed rest = bench::timed([&] {
      optimiser_.step(++steps_, config_.get_real("train.lr"), accumulate);
      session_.model->after_step();
    });
    return {time.wall + rest.wall, time.cpu + rest.cpu};
  }

  std::string parameter_hash() {
    NamedHash hash;
    for (const Parameter* p : session_.model->parameters().parameters()) hash.add(p->name, p->leaf->data);
    return hash.text();
  }

  /// Everything else that a checkpoint would hold, and the positions of streams.
  std::string state_hash() {
    std::set<std::string> trained;
    for (const Parameter* p : session_.model->parameters().parameters()) trained.insert(p->name);
    std::vector<NamedTensor> all = session_.model->tensors();
    optimiser_.list(all);
    NamedHash hash;
    for (const NamedTensor& named : all) {
      if (!trained.contains(named.name)) hash.add(named.name, named.tensor);
    }
    for (const Stream* stream : session_.model->streams()) hash.add(fmt::format("{} at {}", stream->name, stream->position));
    return hash.text();
  }

  std::int64_t peak() { return session_.memory.meter().peak(); }

 private:
  std::string gradient_hash() {
    NamedHash hash;
    for (const Parameter* p : session_.model->parameters().parameters()) {
      if (p->leaf->grad_empty) hash.add(p->name + " has none");
      else hash.add(p->name, p->leaf->grad);
    }
    return hash.text();
  }

  const Config& config_;
  ModelSession session_;
  SegmentMarks marks_;
  RecomputeSetup recompute_;
  Optimiser optimiser_;
  std::vector<Batch> slots_;
  Tape tape_;
  StepPlanner planner_;
  std::size_t next_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace

MeasuredRun measure_run(const Config& config, const std::shared_ptr<const Plan>& plan, int warmup_steps, int timed_steps) {
  MeasuredRun run;
  double begin = bench::wall_seconds();
  Steps steps(config, plan);
  run.setup_s = bench::wall_seconds() - begin;
  for (int i = 0; i < warmup_steps + timed_steps; ++i) {
    bool last = i + 1 == warmup_steps + timed_steps;
    bench::Elapsed time = steps.step(last ? &run.gradients : nullptr);
    if (stop_requested()) throw Interrupted{"measuring; nothing was recorded"};
    if (i < warmup_steps) continue;
    run.wall_s.push_back(time.wall);
    run.cpu_s.push_back(time.cpu);
  }
  run.peak_bytes = steps.peak();
  double resident = bench::status_mib("VmHWM");
  run.rss_peak_bytes = std::isfinite(resident) ? static_cast<std::int64_t>(resident * 1024.0 + 0.5) * 1024 : 0;
  run.parameters = steps.parameter_hash();
  run.state = steps.state_hash();
  return run;
}

Json to_json(const MeasuredRun& run) {
  Json json;
  json["wall_s"] = run.wall_s;
  json["cpu_s"] = run.cpu_s;
  json["measured_peak_bytes"] = run.peak_bytes;
  json["rss_peak_bytes"] = run.rss_peak_bytes;
  json["setup_s"] = run.setup_s;
  json["hash"] = {{"gradients", run.gradients}, {"parameters", run.parameters}, {"state", run.state}};
  return json;
}

}  // namespace reprise::study
