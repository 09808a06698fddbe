// The registry of model types: a name for `model.type`, the configuration keys that come with it, and how it is made.
//
// The models of this project are there from the start. A program with a model of its own calls register_model() first
// and then run_program(argc, argv) of tools/cli/program.h, or train() of models/train/trainer.h.
#pragma once

#include <functional>
#include <memory>

#include "models/config/schema.h"
#include "models/model.h"

namespace reprise {

using ModelFactory = std::function<std::unique_ptr<TrainableModel>(const Config& config)>;

/// `type.name` becomes a value of `model.type`. Call before a configuration is read.
/// Errors (internal): the name is taken, or a key clashes.
void register_model(ModelType type, ModelFactory factory);

/// The model that `config` names; nothing is allocated yet. Errors (config): sizes that cannot be.
std::unique_ptr<TrainableModel> make_model(const Config& config);

}  // namespace reprise
