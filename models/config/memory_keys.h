// The keys of the model types around a memory; part of project_model_types() (models/config/schema.h).
#pragma once

#include <vector>

#include "models/config/schema.h"

namespace reprise {

std::vector<ModelType> memory_model_types();

}  // namespace reprise
