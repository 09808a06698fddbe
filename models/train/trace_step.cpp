#include "models/train/trace_step.h"

#include "core/parallel.h"
#include "models/train/method.h"
#include "models/train/optimiser.h"
#include "models/train/session.h"
#include "ops/registry.h"

namespace reprise {
namespace {

/// The batch slots of the loader, one of which each micro-batch reads.
std::vector<Batch> make_slots(const Config& config, TrainableModel& model, Memory& memory) {
  std::vector<Batch> slots(static_cast<std::size_t>(config.get_int("data.prefetch") + 1));
  for (Batch& slot : slots) slot = make_dry_batch(config, model, memory);
  return slots;
}

/// Names as in checkpoints, so that query and key encoder can be told apart.
void name_storages(TrainableModel& model) {
  for (const NamedTensor& named : model.tensors()) named.tensor.storage().set_name(named.name);
}

}  // namespace

TracedStep trace_step(const Config& config, const TraceOptions& options) {
  set_thread_count(thread_count_of(config));
  register_builtin_ops();
  Memory memory({.timeline = options.timeline, .dry = true});
  std::unique_ptr<TrainableModel> model = make_model(config);
  model->allocate(memory);
  name_storages(*model);
  SegmentMarks marks(config, model->segment_names());
  RecomputeSetup recompute(config, marks);
  Optimiser optimiser(config, *model, memory);
  std::vector<Batch> slots = make_slots(config, *model, memory);
  Tape tape(memory);
  recompute.install(tape, memory);

  TracedStep traced;
  traced.method = recompute.method();
  traced.segments.assign(marks.marked().begin(), marks.marked().end());
  memory.meter().reset_peak();
  traced.before = memory.meter().snapshot();
  optimiser.clear_gradients();
  for (std::int64_t i = 0; i < config.get_int("train.accumulate"); ++i) {
    Forward forward = model->forward(tape, slots[static_cast<std::size_t>(i) % slots.size()], marks);
    if (i == 0) traced.after_forward = memory.meter().snapshot();
    traced.micro_batches.push_back(read_contracts(tape, i));
    if (options.after_forward) options.after_forward(tape, i);
    tape.backward(forward.loss);
    forward = {};
    tape.clear();
  }
  traced.step = memory.meter().snapshot();
  return traced;
}

std::vector<std::pair<std::string, std::string>> step_keys(const Config& config) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const Key& key : config.keys().keys()) {
    const std::string& name = key.name;
    bool shapes = name.starts_with("model.") || name.starts_with("recompute.") || name == "train.batch" ||
                  name == "train.accumulate" || name == "train.optimiser" || name == "train.momentum" ||
                  name == "data.prefetch" || name == "memory.budget" || name == "seed" || name == "guard";
    if (shapes && name != "model.init") pairs.emplace_back(name, value_text(key, config.value(name)));
  }
  return pairs;
}

std::string step_title(const Config& config, const TracedStep& traced) {
  std::string title = fmt::format("{}, batch {}", config.get_string("model.type"), config.get_int("train.batch"));
  if (traced.micro_batches.size() > 1) title += fmt::format(", {} micro-batches", traced.micro_batches.size());
  return title + fmt::format(", method {}, {} segments marked", traced.method, traced.segments.size());
}

}  // namespace reprise
