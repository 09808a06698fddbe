#include "models/config/schema.h"

namespace reprise {
namespace {

std::vector<ModelType>& registered_types() {
  static std::vector<ModelType> types;
  return types;
}

/// Calls visit(prefix) for each section of a name: "a" and "a.b" for "a.b.c".
template <class Visit>
void for_each_section(const std::string& name, Visit&& visit) {
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    visit(name.substr(0, dot));
  }
}

}  // namespace

void KeySet::add(Key key) {
  bool taken = index_.contains(key.name) || sections_.contains(key.name) || find_map_over(key.name) != nullptr;
  for_each_section(key.name, [&](const std::string& section) { taken = taken || index_.contains(section); });
  if (taken)
    fail(ErrorKind::internal, "[config] expected a key that is neither declared nor a section of another, got {}",
         key.name);
  for_each_section(key.name, [&](const std::string& section) { ++sections_[section]; });
  index_[key.name] = keys_.size();
  keys_.push_back(std::move(key));
}

const Key* KeySet::find(const std::string& name) const {
  auto found = index_.find(name);
  return found == index_.end() ? nullptr : &keys_[found->second];
}

const Key* KeySet::find_map_over(const std::string& name) const {
  const Key* over = nullptr;
  for_each_section(name.substr(0, 256), [&](const std::string& section) {
    const Key* key = find(section);
    if (over == nullptr && key != nullptr && key->type == KeyType::map) over = key;
  });
  return over;
}

bool KeySet::is_section(const std::string& name) const { return sections_.contains(name); }

std::string KeySet::nearest(const std::string& name) const {
  Words names;
  for (const Key& key : keys_) names.push_back(key.name);
  return nearest_name(name, names);
}

std::string KeySet::nearest_section(const std::string& name) const {
  Words names;
  for (const auto& [section, keys] : sections_) names.push_back(section);
  for (const Key& key : keys_) {
    if (key.type == KeyType::map) names.push_back(key.name);  // holds further names as a section does
  }
  return nearest_name(name, names);
}

void KeySet::set_default(const std::string& name, ConfigValue value) {
  auto found = index_.find(name);
  if (found == index_.end())
    fail(ErrorKind::internal, "[config] expected a declared key to give a default for, got {}", name);
  Key& key = keys_[found->second];
  if (key.default_value.index() != value.index()) {
    fail(ErrorKind::internal, "[config] expected a default for {} that is {}, got another type", name,
         type_name(key.type));
  }
  key.default_value = std::move(value);
}

void Schema::add(std::vector<Key> keys) {
  for (Key& key : keys) common_.push_back(std::move(key));
}

void Schema::add_model_type(ModelType type) {
  if (find_model_type(type.name) != nullptr)
    fail(ErrorKind::internal, "[config] expected a {} that is not declared yet, got {}", type_key_, type.name);
  for (const ModelType& other : types_) {
    for (const Key& key : type.keys) {
      for (const Key& same : other.keys) {
        if (same.name != key.name || same.type == key.type) continue;
        fail(ErrorKind::internal, "[config] expected the key {} to be {}, as in {} {}, got {} in {}", key.name,
             type_name(same.type), type_key_, other.name, type_name(key.type), type.name);
      }
    }
  }
  types_.push_back(std::move(type));
}

const ModelType* Schema::find_model_type(const std::string& name) const {
  for (const ModelType& type : types_) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

KeySet Schema::keys_for(const std::string& model_type) const {
  const ModelType* type = find_model_type(model_type);
  if (type == nullptr)
    fail(ErrorKind::user, "[config] expected a known {}, got {}", type_key_, quoted_for_message(model_type));
  KeySet set;
  for (const Key& key : common_) {
    Key copy = key;
    if (key.name == type_key_) {
      copy.choices.clear();
      for (const ModelType& known : types_) copy.choices.push_back(known.name);
    }
    set.add(std::move(copy));
    if (key.name == type_key_) {
      for (const Key& own : type->keys) set.add(own);
    }
  }
  for (const ModelType::Default& other : type->defaults) set.set_default(other.key, other.value);
  return set;
}

KeySet Schema::all_keys() const {
  if (types_.empty()) fail(ErrorKind::internal, "[config] expected a schema with model types, got none");
  KeySet set = keys_for(types_.front().name);
  for (const ModelType& type : types_) {
    for (const Key& key : type.keys) {
      if (set.find(key.name) == nullptr) set.add(key);
    }
  }
  return set;
}

Words Schema::types_with(const std::string& key) const {
  Words names;
  for (const ModelType& type : types_) {
    for (const Key& own : type.keys) {
      if (own.name == key) names.push_back(type.name);
    }
  }
  return names;
}

void register_model_type(ModelType type) { registered_types().push_back(std::move(type)); }

Schema standard_schema() {
  Schema schema;
  schema.add(common_keys());
  for (const ModelType& type : project_model_types()) schema.add_model_type(type);
  for (const ModelType& type : registered_types()) schema.add_model_type(type);
  schema.set_check(check_metrics);
  return schema;
}

}  // namespace reprise
