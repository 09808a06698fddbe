#include "models/config/yaml_reader.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>

#include "data/text_file.h"

namespace reprise {
namespace {

/// Builds the tree from the parser's events. Events, not YAML::Node: they carry marks, keep duplicates, and never
/// expand an alias.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const std::string& source) : source_(source) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail_config(at(mark), "aliases (*name) are not read here. Write the value out");
  }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override {
    fail_config(at(mark), "anchors (&name) are not read here. Write the value out where it is needed");
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { place(make(ConfigNode::Kind::null, mark)); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& value) override {
    ConfigNode node = make(ConfigNode::Kind::scalar, mark);
    node.text = value;
    node.quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    if (!node.quoted) refuse_tag(mark, tag);
    place(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    open(make(ConfigNode::Kind::list, mark));
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    open(make(ConfigNode::Kind::map, mark));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

  ConfigNode take() { return std::move(root_); }

 private:
  /// A list or map under construction; for a map, the key that waits for its value.
  struct Open {
    ConfigNode node;
    bool has_key = false;
    std::string key;
    Position key_position;
  };

  Position at(const YAML::Mark& mark) const {
    if (mark.is_null()) return {source_, 1, 1};
    return {source_, mark.line + 1, mark.column + 1};
  }
  ConfigNode make(ConfigNode::Kind kind, const YAML::Mark& mark) const {
    ConfigNode node;
    node.kind = kind;
    node.position = at(mark);
    return node;
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (tag.empty() || tag == "?") return;
    fail_config(at(mark), "the tag {} is not read here. Leave it out", quoted_for_message(tag));
  }
  void open(ConfigNode node) {
    if (open_.size() >= kDeepestNesting) {
      fail_config(node.position, "nested deeper than {} levels", kDeepestNesting);
    }
    bool in_map_without_key =
        !open_.empty() && open_.back().node.kind == ConfigNode::Kind::map && !open_.back().has_key;
    if (in_map_without_key) fail_config(node.position, "expected a key, got {}. Keys are plain words", describe(node));
    open_.push_back(Open{std::move(node), false, {}, {}});
  }
  void close() {
    ConfigNode node = std::move(open_.back().node);
    open_.pop_back();
    place(std::move(node));
  }
  void place(ConfigNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == ConfigNode::Kind::list) {
      parent.node.items.push_back(std::move(node));
    } else if (parent.has_key) {
      parent.node.entries.push_back({std::move(parent.key), parent.key_position, std::move(node)});
      parent.has_key = false;
    } else {
      take_key(parent, std::move(node));
    }
  }
  static void take_key(Open& parent, ConfigNode node) {
    if (node.kind != ConfigNode::Kind::scalar) {
      fail_config(node.position, "expected a key, got {}. Keys are plain words", describe(node));
    }
    parent.key = std::move(node.text);
    parent.key_position = node.position;
    parent.has_key = true;
  }

  std::string source_;
  std::vector<Open> open_;
  ConfigNode root_;
};

/// The first byte that no configuration needs (a control character, or no valid UTF-8), or npos.
std::size_t find_bad_byte(std::string_view text) {
  auto control = [](char c) {
    auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f;
  };
  auto first = static_cast<std::size_t>(std::find_if(text.begin(), text.end(), control) - text.begin());
  return std::min(first < text.size() ? first : std::string_view::npos, find_no_utf8(text));
}

Position position_of_byte(std::string_view text, std::size_t offset, const std::string& source) {
  Position position{source, 1, 1};
  for (std::size_t i = 0; i < offset; ++i) {
    if (text[i] == '\n') {
      ++position.line;
      position.column = 1;
    } else {
      ++position.column;
    }
  }
  return position;
}

void refuse_duplicates(const ConfigNode& node) {
  for (const ConfigNode& item : node.items) refuse_duplicates(item);
  std::vector<const ConfigNode::Entry*> sorted;
  for (const ConfigNode::Entry& entry : node.entries) {
    sorted.push_back(&entry);
    refuse_duplicates(entry.value);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->key < b->key; });
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i]->key != sorted[i - 1]->key) continue;
    fail_config(sorted[i]->position, "the key {} is given twice. The first is at {}",
                quoted_for_message(sorted[i]->key), sorted[i - 1]->position.text());
  }
}

}  // namespace

ConfigNode read_yaml(std::string_view text, const std::string& source) {
  Position start{source, 1, 1};
  if (static_cast<std::int64_t>(text.size()) > kLongestConfigFile) {
    fail_config(start, "expected a configuration of at most {} bytes, got more", kLongestConfigFile);
  }
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  if (std::size_t bad = find_bad_byte(text); bad != std::string_view::npos) {
    fail_config(position_of_byte(text, bad, source), "expected text in UTF-8, got the byte 0x{:02x}",
                static_cast<unsigned char>(text[bad]));
  }
  std::istringstream stream{std::string(text)};
  TreeBuilder builder(source);
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) {
      fail_config(start, "expected a map of keys, got an empty file. Write {{}} to ask for all defaults");
    }
    ConfigNode root = builder.take();
    if (root.kind != ConfigNode::Kind::map) {
      fail_config(root.position, "expected a map of keys such as \"seed: 1\", got {}", describe(root));
    }
    TreeBuilder second(source);
    if (parser.HandleNextDocument(second)) {
      fail_config(second.take().position, "expected one document, got a second one");
    }
    refuse_duplicates(root);
    return root;
  } catch (const YAML::Exception& error) {
    Position position = start;
    if (!error.mark.is_null()) position = {source, error.mark.line + 1, error.mark.column + 1};
    fail_config(position, "not valid YAML: {}", error.msg);
  }
}

ConfigNode read_yaml_file(const std::string& path) {
  return read_yaml(read_text_file(path, "config", kLongestConfigFile), path);
}

}  // namespace reprise
