// From tree and overrides to a resolved configuration. Two passes: names are checked and gathered against the keys of
// all models first, because which keys apply depends on model.type, which any source may set.
#include <algorithm>

#include "models/config/config.h"
#include "models/config/yaml_reader.h"

namespace reprise {
namespace {

/// One thing that a file or an argument says about one key (or one entry of a map key).
struct KeyAssignment {
  std::string key;
  std::string entry;                 // of a map key, when only that entry is meant
  const ConfigNode* node = nullptr;  // null: back to the default
  Position position;
  bool from_file = false;
};

}  // namespace

class ConfigLoader {
 public:
  explicit ConfigLoader(const Schema& schema) : schema_(schema), all_(schema.all_keys()) {}

  Config load(const ConfigNode& root, const std::string& file, const std::vector<OverrideText>& texts) {
    gather_map(root, "", true);
    refuse_duplicates();
    for (const OverrideText& text : texts) overrides_.push_back(read_override(text));
    for (const Override& override : overrides_) gather_override(override);
    Config config;
    config.file_ = file;
    std::string type = find_type();
    config.keys_ = schema_.keys_for(type);
    config.measures_ = schema_.find_model_type(type)->measures;
    for (const Key& key : config.keys_.keys()) config.settings_[key.name].value = key.default_value;
    for (const KeyAssignment& assignment : assignments_) apply(config, assignment);
    if (schema_.check() != nullptr) schema_.check()(config);
    return config;
  }

 private:
  [[noreturn]] void refuse_unknown(const Position& position, const std::string& name) const {
    std::string nearest = all_.nearest(name);
    fail_config(position, "unknown key {}. {}", quoted_for_message(name),
                nearest.empty() ? "`" + schema_.list_command() + "` lists all keys"
                                : "Nearest known key is " + quoted_for_message(nearest));
  }

  /// What holds further keys was most likely meant as a section.
  [[noreturn]] void refuse_unknown_section(const Position& position, const std::string& name) const {
    std::string nearest = all_.nearest_section(name);
    if (nearest.empty()) refuse_unknown(position, name);
    fail_config(position, "unknown key {}. Nearest known {} is {}", quoted_for_message(name),
                all_.is_section(nearest) ? "section" : "key", quoted_for_message(nearest));
  }

  void gather_map(const ConfigNode& map, const std::string& prefix, bool from_file) {
    for (const ConfigNode::Entry& entry : map.entries)
      gather(prefix + entry.key, entry.position, entry.value, from_file);
  }

  void gather(const std::string& name, const Position& position, const ConfigNode& node, bool from_file) {
    if (all_.find(name) != nullptr) {
      assignments_.push_back({name, "", &node, position, from_file});
    } else if (const Key* map = all_.find_map_over(name)) {
      assignments_.push_back({map->name, name.substr(map->name.size() + 1), &node, position, from_file});
    } else if (!all_.is_section(name)) {
      if (node.kind == ConfigNode::Kind::map) refuse_unknown_section(position, name);
      refuse_unknown(position, name);
    } else if (node.kind == ConfigNode::Kind::map) {
      gather_map(node, name + ".", from_file);
    } else if (node.kind != ConfigNode::Kind::null) {
      fail_config(node.position, "{} is a section: expected keys below it such as {}, got {}", name, first_key_in(name),
                  describe(node));
    }
  }

  std::string first_key_in(const std::string& section) const {
    for (const Key& key : all_.keys()) {
      if (key.name.compare(0, section.size() + 1, section + ".") == 0) return key.name;
    }
    return section;
  }

  /// "a.b: 1" beside "a: {b: 2}": the reader sees no duplicate, the keys are the same.
  void refuse_duplicates() const {
    std::map<std::pair<std::string, std::string>, const KeyAssignment*> seen;
    for (const KeyAssignment& assignment : assignments_) {
      auto [place, fresh] = seen.try_emplace({assignment.key, assignment.entry}, &assignment);
      if (fresh) continue;
      fail_config(assignment.position, "the key {} is given twice. The first is at {}",
                  quoted_for_message(assignment.key), place->second->position.text());
    }
  }

  void gather_override(const Override& override) {
    if (override.action == Override::Action::remove) return gather_removal(override);
    if (override.action == Override::Action::add) refuse_if_set(override);
    gather(override.key, override.position, override.value, false);
  }

  void refuse_if_set(const Override& override) const {
    for (const KeyAssignment& assignment : assignments_) {
      bool whole_map =
          assignment.entry.empty() && assignment.node != nullptr && assignment.node->kind == ConfigNode::Kind::map;
      std::string name = assignment.entry.empty() ? assignment.key : assignment.key + "." + assignment.entry;
      if (name != override.key || whole_map) continue;
      fail_config(override.position, "{} is already set at {}. Leave out the \"+\" to change it", override.key,
                  assignment.position.text());
    }
  }

  void gather_removal(const Override& override) {
    bool found = false;
    if (const Key* map = all_.find_map_over(override.key); map != nullptr) {
      std::string entry = override.key.substr(map->name.size() + 1);
      assignments_.push_back({map->name, entry, nullptr, override.position, false});
      return;
    }
    for (const Key& key : all_.keys()) {
      bool inside =
          all_.is_section(override.key) && key.name.compare(0, override.key.size() + 1, override.key + ".") == 0;
      if (key.name != override.key && !inside) continue;
      if (override.has_value) refuse_other_value(override, key);
      assignments_.push_back({key.name, "", nullptr, override.position, false});
      found = true;
    }
    if (!found) refuse_unknown(override.position, override.key);
  }

  /// "~a.b=v" takes the value away only if it is v.
  void refuse_other_value(const Override& override, const Key& key) const {
    ConfigValue expected = read_value(key, override.value);
    ConfigValue current = key.default_value;
    for (const KeyAssignment& assignment : assignments_) {
      if (assignment.key != key.name || !assignment.entry.empty()) continue;
      current = assignment.node != nullptr ? read_value(key, *assignment.node) : key.default_value;
    }
    if (current == expected) return;
    fail_config(override.position, "{} is {}, not {}", key.name, value_yaml(key, current), value_yaml(key, expected));
  }

  std::string find_type() const {
    const Key& key = *all_.find(schema_.type_key());
    ConfigValue value = key.default_value;
    for (const KeyAssignment& assignment : assignments_) {
      if (assignment.key != key.name) continue;
      value = assignment.node != nullptr ? read_value(key, *assignment.node) : key.default_value;
    }
    return std::get<std::string>(value);
  }

  void apply(Config& config, const KeyAssignment& assignment) const {
    const Key* key = config.keys_.find(assignment.key);
    if (key == nullptr) {
      if (assignment.node == nullptr) return;  // a removal that reaches into another model's keys changes nothing
      fail_config(assignment.position, "the key {} belongs to {} {}, and {} is {} here",
                  quoted_for_message(assignment.key), schema_.type_key(), join(schema_.types_with(assignment.key)),
                  schema_.type_key(), find_type());
    }
    Config::Setting& setting = config.settings_[key->name];
    if (!assignment.entry.empty()) return apply_entry(*key, setting, assignment);
    if (assignment.node == nullptr) {
      setting = {key->default_value, {}, {}};
      return;
    }
    ConfigValue value = read_value(*key, *assignment.node);
    if (key->type != KeyType::map || assignment.node->kind == ConfigNode::Kind::null) {
      setting.entries.clear();
      setting.value = std::move(value);
    } else {
      // As in Hydra, a map given later is merged into what is there.
      for (const ConfigNode::Entry& entry : assignment.node->entries) {
        put(std::get<WordMap>(setting.value), entry.key, read_map_option(*key, entry.key, entry.value));
        setting.entries[entry.key] = entry.position;
      }
    }
    setting.position = assignment.node->position;
  }

  static void apply_entry(const Key& key, Config::Setting& setting, const KeyAssignment& assignment) {
    WordMap& map = std::get<WordMap>(setting.value);
    auto same = [&](const auto& pair) { return pair.first == assignment.entry; };
    if (assignment.node != nullptr) {
      put(map, assignment.entry, read_map_option(key, assignment.entry, *assignment.node));
      setting.entries[assignment.entry] = assignment.position;
      if (!setting.position.known()) setting.position = assignment.position;
      return;
    }
    auto found = std::find_if(map.begin(), map.end(), same);
    if (found == map.end()) {
      fail_config(assignment.position, "{} has no entry {}", key.name, quoted_for_message(assignment.entry));
    }
    map.erase(found);
    setting.entries.erase(assignment.entry);
  }

  static void put(WordMap& map, const std::string& name, std::string option) {
    for (auto& [other, value] : map) {
      if (other != name) continue;
      value = std::move(option);
      return;
    }
    map.emplace_back(name, std::move(option));
  }

  static std::string join(const Words& words) {
    std::string out;
    for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
    return out;
  }

  const Schema& schema_;
  KeySet all_;
  std::vector<Override> overrides_;
  std::vector<KeyAssignment> assignments_;
};

namespace {

ConfigNode empty_map() {
  ConfigNode node;
  node.kind = ConfigNode::Kind::map;
  return node;
}

}  // namespace

Config load_numbered_config(const std::string& file, const std::vector<OverrideText>& overrides, const Schema& schema) {
  ConfigNode root = file.empty() ? empty_map() : read_yaml_file(file);
  return ConfigLoader(schema).load(root, file, overrides);
}

Config load_config(const std::string& file, const std::vector<std::string>& overrides, const Schema& schema) {
  return load_numbered_config(file, number_overrides(overrides), schema);
}

Config parse_config(const std::string& text, const std::string& source, const std::vector<std::string>& overrides,
                    const Schema& schema) {
  ConfigNode root = read_yaml(text, source);
  return ConfigLoader(schema).load(root, source, number_overrides(overrides));
}

}  // namespace reprise
