// The set of keys a configuration may hold: keys every run has, and the keys of each model.type.
//
// Tables of keys compose: standard_schema() gathers the common keys, the models of this project and every model that
// register_model_type() was told of. KeySet is the flat, ordered view that one run sees.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/config/key.h"
#include "models/config/metric.h"

namespace reprise {

/// What a model adds to the configuration: its name as `model.type`, its own keys, and other defaults for common keys.
struct ModelType {
  struct Default {
    std::string key;
    ConfigValue value;
  };
  std::string name;
  std::string summary;
  std::vector<Key> keys;
  std::vector<Default> defaults;
  /// The largest values of integer keys in the guarded step of a check, which copies all memory around every op.
  std::vector<Default> guarded = {};
  /// What the model measures while it trains: the names that evaluate_in_training() gives, and their directions.
  std::vector<Metric> measures = {};
};

/// An ordered set of keys with look-up. A section is a prefix that names no key: "model.queue" of "model.queue.size".
class KeySet {
 public:
  /// Errors (internal) when the name is taken, or is a section of another key.
  void add(Key key);
  const std::vector<Key>& keys() const { return keys_; }
  const Key* find(const std::string& name) const;
  /// The map key that `name` lies in: "recompute.options" for "recompute.options.layer2.*". Null when there is none.
  const Key* find_map_over(const std::string& name) const;
  bool is_section(const std::string& name) const;
  /// Empty when no key is near.
  std::string nearest(const std::string& name) const;
  /// The same among sections and keys that are maps.
  std::string nearest_section(const std::string& name) const;
  void set_default(const std::string& name, ConfigValue value);

 private:
  std::vector<Key> keys_;
  std::map<std::string, std::size_t> index_;
  std::map<std::string, int> sections_;
};

class Schema {
 public:
  /// The schema of runs; or one of other files whose keys depend on a type of their own, as those of studies do.
  /// `type_key` is the choice that says which, `list_command` what lists all keys, for error texts.
  explicit Schema(std::string type_key = "model.type", std::string list_command = "reprise config --reference")
      : type_key_(std::move(type_key)), list_command_(std::move(list_command)) {}
  const std::string& type_key() const { return type_key_; }
  const std::string& list_command() const { return list_command_; }

  void add(std::vector<Key> keys);
  /// Errors (internal) when the name is taken or a key clashes with one of another type of the same name.
  void add_model_type(ModelType type);

  const std::vector<Key>& common() const& { return common_; }
  const std::vector<Key>& common() const&& = delete;  // a loop over those of a temporary would read freed memory
  const std::vector<ModelType>& model_types() const& { return types_; }
  const std::vector<ModelType>& model_types() const&& = delete;
  const ModelType* find_model_type(const std::string& name) const;

  /// The keys of a run with this type; without one, the keys of all types together (each name once).
  KeySet keys_for(const std::string& model_type) const;
  KeySet all_keys() const;
  /// The model types that declare the key, in order.
  Words types_with(const std::string& key) const;

  /// What a resolved configuration must also hold, where keys depend on each other. Thrown errors are the answer.
  using Check = void (*)(const Config& config);
  void set_check(Check check) { check_ = check; }
  Check check() const { return check_; }

 private:
  Check check_ = nullptr;
  std::string type_key_, list_command_;
  std::vector<Key> common_;
  std::vector<ModelType> types_;
};

/// The keys every run has (models/config/common_keys.cpp), `model.type` among them; its choices are filled in from the
/// model types of the schema.
std::vector<Key> common_keys();

/// The model types of this project (models/config/model_keys.cpp).
std::vector<ModelType> project_model_types();

/// Adds a model type to every standard_schema() made later. For models that live outside this project: call it before
/// the command line is read.
void register_model_type(ModelType type);

Schema standard_schema();

}  // namespace reprise
