// Readers of configurations: YAML files and key=value arguments.
#include "core/error.h"
#include "models/config/config.h"
#include "models/config/yaml_reader.h"
#include "tests/fuzz/target.h"

namespace reprise::fuzz {
namespace {

/// A text in double quotes of YAML.
std::string yaml_text(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

/// A text in double quotes of an override.
std::string override_text(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

/// The tree in one line, every text quoted by `quote`.
std::string flow_text(const ConfigNode& node, std::string (*quote)(const std::string&)) {
  std::string out;
  switch (node.kind) {
    case ConfigNode::Kind::null: return "null";
    case ConfigNode::Kind::scalar: return quote(node.text);
    case ConfigNode::Kind::list:
      for (const ConfigNode& item : node.items) out += (out.empty() ? "" : ", ") + flow_text(item, quote);
      return "[" + out + "]";
    case ConfigNode::Kind::map:
      for (const ConfigNode::Entry& entry : node.entries) {
        out += (out.empty() ? "" : ", ") + quote(entry.key) + ": " + flow_text(entry.value, quote);
      }
      return "{" + out + "}";
  }
  return out;
}

int depth_of(const ConfigNode& node) {
  int deepest = 0;
  for (const ConfigNode& item : node.items) deepest = std::max(deepest, 1 + depth_of(item));
  for (const ConfigNode::Entry& entry : node.entries) deepest = std::max(deepest, 1 + depth_of(entry.value));
  return deepest;
}

bool long_keys(const ConfigNode& node) {
  for (const ConfigNode& item : node.items) {
    if (long_keys(item)) return true;
  }
  for (const ConfigNode::Entry& entry : node.entries) {
    if (entry.key.size() > 200 || long_keys(entry.value)) return true;
  }
  return false;
}

void expect_tree(const std::string& text) {
  ConfigNode node = read_yaml(text, kSource);
  expect(node.kind == ConfigNode::Kind::map, "a configuration that is no map");
  expect(depth_of(node) <= kDeepestNesting, "nested deeper than the limit");
  std::string flow = flow_text(node, yaml_text);
  // Keys in one line must be short, by the rules of YAML.
  if (static_cast<std::int64_t>(flow.size()) > kLongestConfigFile || long_keys(node)) return;
  expect(flow_text(read_yaml(flow, kSource), yaml_text) == flow, "another tree when written again: " + flow);
}

}  // namespace

void run_config(Input input) {
  const std::string text = text_of(input);
  accepts([&] { expect_tree(text); });
  accepts([&] {
    std::string resolved = parse_config(text, kSource).to_yaml();
    expect(parse_config(resolved, kSource).to_yaml() == resolved, "resolved to another configuration:\n" + resolved);
  });
}

void run_override(Input input) {
  const std::string text = text_of(input), place = "command line argument 7";
  accepts(
      [&] {
        Override read = read_override({text, 7});
        expect(!read.key.empty(), "an override without a key");
        if (!read.has_value) return;
        expect(depth_of(read.value) <= kDeepestNesting, "nested deeper than the limit");
        std::string flow = flow_text(read.value, override_text);
        if (static_cast<std::int64_t>(flow.size() + read.key.size()) >= kLongestOverride) return;
        Override again = read_override({read.key + "=" + flow, 7});
        bool same = again.key == read.key && flow_text(again.value, override_text) == flow;
        expect(same || read.key[0] == '~' || read.key[0] == '+', "another value when written again: " + flow);
      },
      place);
  accepts([&] { parse_config("{}", kSource, {text}).to_yaml(); }, "command line argument 1");
}

}  // namespace reprise::fuzz
