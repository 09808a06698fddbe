#include "models/registry.h"

#include <map>

#include "core/error.h"
#include "models/kinds/classifier.h"
#include "models/kinds/dense_queue.h"
#include "models/kinds/graph_memory.h"
#include "models/kinds/product_key_memory.h"
#include "models/kinds/row_memory.h"
#include "models/kinds/slot_cache.h"

namespace reprise {
namespace {

std::map<std::string, ModelFactory>& factories() {
  static std::map<std::string, ModelFactory> all = {
      {"dense_queue", [](const Config& config) { return std::make_unique<DenseQueueModel>(config); }},
      {"classifier", [](const Config& config) { return std::make_unique<ClassifierModel>(config); }},
      {"row_memory", [](const Config& config) { return std::make_unique<RowMemoryModel>(config); }},
      {"graph_memory", [](const Config& config) { return std::make_unique<GraphMemoryModel>(config); }},
      {"product_key_memory", [](const Config& config) { return std::make_unique<ProductKeyMemoryModel>(config); }},
      {"slot_cache", [](const Config& config) { return std::make_unique<SlotCacheModel>(config); }},
  };
  return all;
}

}  // namespace

void register_model(ModelType type, ModelFactory factory) {
  std::string name = type.name;
  if (factories().contains(name))
    fail(ErrorKind::internal, "[models] expected a model type that is not registered yet, got {}", name);
  register_model_type(std::move(type));
  factories()[name] = std::move(factory);
}

std::unique_ptr<TrainableModel> make_model(const Config& config) {
  auto found = factories().find(config.get_string("model.type"));
  if (found == factories().end()) throw config.error_at("model.type", "this program has keys for it but no model");
  return found->second(config);
}

}  // namespace reprise
