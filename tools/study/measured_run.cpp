#include "tools/study/measured_run.h"

#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "core/byte_hash.h"
#include "core/interrupt.h"
#include "models/train/bare_steps.h"
#include "models/train/checkpoint.h"
#include "tools/bench/measure.h"

namespace reprise::study {
namespace {

std::string gradient_hash(BareSteps& steps) {
  std::vector<NamedTensor> gradients;
  for (const Parameter* p : steps.model().parameters().parameters()) {
    if (!p->leaf->grad_empty) gradients.push_back({p->name, p->leaf->grad});
  }
  return hash_tensors(gradients);
}

/// Of the parameters; and of all else that a checkpoint would hold, with the positions of streams.
std::pair<std::string, std::string> parameter_and_state_hash(BareSteps& steps) {
  std::vector<NamedTensor> all = steps.model().tensors(), trained, rest;
  steps.optimiser().list(all);
  std::set<std::string> names;
  for (const Parameter* p : steps.model().parameters().parameters()) {
    names.insert(p->name);
    trained.push_back({p->name, p->leaf->data});
  }
  for (const NamedTensor& named : all) {
    if (!names.contains(named.name)) rest.push_back(named);
  }
  ByteHash state;
  state.add(hash_tensors(rest));
  for (const Stream* stream : steps.model().streams())
    state.add(fmt::format(" {} at {}", stream->name, stream->position));
  return {hash_tensors(trained), state.text()};
}

/// One step; `gradients` (may be null) gets their hash, outside the time.
bench::Elapsed timed_step(BareSteps& steps, double learning_rate, std::string* gradients) {
  steps.make_schedule();
  double loss = 0;
  bench::Elapsed time = bench::timed([&] { loss = steps.backward(); });
  if (!std::isfinite(loss))
    fail(ErrorKind::user, "[study] expected a finite loss, got {} in step {}", loss, steps.count() + 1);
  if (gradients != nullptr) *gradients = gradient_hash(steps);
  bench::Elapsed rest = bench::timed([&] { steps.update(learning_rate); });
  return {time.wall + rest.wall, time.cpu + rest.cpu};
}

}  // namespace

MeasuredRun measure_run(const Config& config, const std::shared_ptr<const Plan>& plan, int warmup_steps,
                        int timed_steps) {
  MeasuredRun run;
  double begin = bench::wall_seconds();
  BareSteps steps(config, plan);
  run.setup_s = bench::wall_seconds() - begin;
  for (int i = 0; i < warmup_steps + timed_steps; ++i) {
    bool last = i + 1 == warmup_steps + timed_steps;
    bench::Elapsed time = timed_step(steps, config.get_real("train.lr"), last ? &run.gradients : nullptr);
    if (stop_requested()) throw Interrupted{"measuring; nothing was recorded"};
    if (i < warmup_steps) continue;
    run.wall_s.push_back(time.wall);
    run.cpu_s.push_back(time.cpu);
  }
  run.peak_bytes = steps.peak();
  double resident = bench::status_mib("VmHWM");
  run.rss_peak_bytes = std::isfinite(resident) ? static_cast<std::int64_t>(resident * 1024.0 + 0.5) * 1024 : 0;
  std::tie(run.parameters, run.state) = parameter_and_state_hash(steps);
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
