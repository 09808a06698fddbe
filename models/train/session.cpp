#include "models/train/session.h"

#include <sched.h>

#include "core/parallel.h"
#include "data/cifar100.h"
#include "data/synthetic.h"
#include "ops/registry.h"

namespace reprise {

int thread_count_of(const Config& config) {
  if (auto wanted = static_cast<int>(config.get_int("threads")); wanted > 0) return wanted;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  return std::max(1, CPU_COUNT(&cores));
}

Dataset load_dataset(const Config& config, const TrainableModel& model) {
  if (!model.takes_images()) return {.origin = "no images"};
  const std::string& path = config.get_string("data.path");
  if (!path.empty()) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) return read_cifar100(path);
    throw config.error_at(
        "data.path",
        "no such file or folder. Download cifar-100-binary.tar.gz from "
        "https://www.cs.toronto.edu/~kriz/cifar.html and give its path, or leave the key empty for synthetic images");
  }
  SyntheticOptions options;
  options.seed = static_cast<std::uint64_t>(config.get_int("data.synthetic.seed"));
  options.train = config.get_int("data.synthetic.train");
  options.test = config.get_int("data.synthetic.test");
  return make_synthetic(options);
}

namespace {

MemoryOptions memory_options(const Config& config) {
  MemoryOptions options;
  options.budget = config.get_bytes("memory.budget").value_or(0);
  options.poison_freed = config.get_string("guard") == "on";
  return options;
}

std::unique_ptr<TrainableModel> make_ready(const Config& config) {
  set_thread_count(thread_count_of(config));
  register_builtin_ops();
  return make_model(config);
}

}  // namespace

LoaderOptions loader_options(const Config& config, const TrainableModel& model) {
  LoaderOptions options;
  options.seed = static_cast<std::uint64_t>(config.get_int("seed"));
  options.batch = config.get_int("train.batch");
  options.views = model.views();
  options.prefetch = static_cast<int>(config.get_int("data.prefetch"));
  options.augment = model.augmentation();
  if (std::int64_t limit = config.get_int("data.limit"); limit > 0) options.limit = limit;
  return options;
}

Batch make_dry_batch(const Config& config, const TrainableModel& model, Memory& memory) {
  Batch batch;
  batch.size = config.get_int("train.batch");
  if (!model.takes_images()) return batch;
  for (int v = 0; v < model.views(); ++v) {
    batch.views[v] = make_tensor(memory.allocator(), memory.observer(), DType::f32,
                                 {batch.size, kImageSide, kImageSide, kImageChannels}, Category::data);
    batch.views[v].storage().set_name(v == 0 ? "batch.view0" : "batch.view1");
  }
  batch.labels = make_tensor(memory.allocator(), memory.observer(), DType::i64, {batch.size}, Category::data);
  batch.labels.storage().set_name("batch.labels");
  return batch;
}

void name_storages(TrainableModel& model) {
  for (const NamedTensor& named : model.tensors()) named.tensor.storage().set_name(named.name);
}

ModelSession::ModelSession(const Config& config) : config(config), memory(memory_options(config)) {
  model = make_ready(config);
  if (auto budget = config.get_bytes("memory.budget"); budget && *budget == 0) {
    throw config.error_at("memory.budget", "expected room for something, got 0 bytes. Leave the key out for no limit");
  }
  memory.preserver().set_guard(config.get_string("guard") == "on");
  model->allocate(memory);
}

}  // namespace reprise
