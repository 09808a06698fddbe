// Session: memory, images and model of one run, set up from its configuration. Shared by training and evaluation.
#pragma once

#include <memory>

#include "models/registry.h"

namespace reprise {

/// The key `threads`, or as many as this process may use where it is 0.
int thread_count_of(const Config& config);

/// Synthetic images, or those of data.path. Errors (user, io) as the reader's.
Dataset load_dataset(const Config& config);

struct Session {
  /// Sets the thread count, reads the images and makes the model with its initial values. `config` outlives it.
  /// Errors: config, user, io, memory.
  explicit Session(const Config& config);

  const Config& config;
  Memory memory;
  Dataset data;
  std::unique_ptr<TrainableModel> model;

  std::string model_name() const { return config.get_string("model.type"); }
};

/// Runs `body` and turns an error about memory.budget into the user's mistake that it is (exit code 2), with the
/// place where the key was set.
template <class Body>
auto within_budget(const Config& config, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const Error& error) {
    Bytes budget = config.get_bytes("memory.budget");
    if (error.kind() != ErrorKind::memory || !budget || error.message().find("a budget of") == std::string::npos) throw;
    throw config.error_at("memory.budget", "too small for this run, {} bytes: {}", *budget, error.message());
  }
}

}  // namespace reprise
