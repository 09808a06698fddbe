// Session: memory, images and model of one run, set up from its configuration. Shared by training, evaluation and
// checks; the last make several models on the same images, hence ModelSession.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "memory/meter.h"
#include "models/registry.h"

namespace reprise {

/// The key `threads`, or as many as this process may use where it is 0.
int thread_count_of(const Config& config);

/// Synthetic images, or those of data.path; none where the model takes none. Errors (user, io) as the reader's.
Dataset load_dataset(const Config& config, const TrainableModel& model);

/// How training reads images: batch, views, augmentation and limit as `config` and `model` say.
LoaderOptions loader_options(const Config& config, const TrainableModel& model);

/// Tensors shaped as the loader's batches, for dry traces: never filled. None where the model takes no images.
Batch make_dry_batch(const Config& config, const TrainableModel& model, Memory& memory);

/// Gives each parameter and buffer its checkpoint name in error texts, contracts and plans.
void name_storages(TrainableModel& model);

struct ModelSession {
  /// Sets the thread count and makes the model with its initial values. `config` outlives it. Errors: config, memory.
  explicit ModelSession(const Config& config);

  const Config& config;
  Memory memory;
  std::unique_ptr<TrainableModel> model;

  std::string model_name() const { return config.get_string("model.type"); }
};

struct Session : ModelSession {
  /// Also reads the images. Errors: user, io too.
  explicit Session(const Config& config) : ModelSession(config), data(load_dataset(config, *model)) {}

  Dataset data;
};

/// Runs `body` and turns an error about memory.budget into the user's mistake that it is (exit code 2), with the
/// place where the key was set.
template <class Body>
auto within_budget(const Config& config, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const Error& error) {
    Bytes budget = config.get_bytes("memory.budget");
    if (!budget || !is_over_budget(error)) throw;
    throw config.error_at("memory.budget", "too small for this run, {} bytes: {}", *budget, error.message());
  }
}

}  // namespace reprise
