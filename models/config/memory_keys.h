// The keys of the model types around a memory; part of project_model_types() (models/config/schema.h).
// Every size of these workloads is a key, so that a study can scale them.
#pragma once

#include <vector>

#include "models/config/schema.h"

namespace reprise {

std::vector<ModelType> memory_model_types();

}  // namespace reprise
