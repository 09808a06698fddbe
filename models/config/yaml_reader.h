// Reads a YAML document into a ConfigNode tree with positions. Called by load_config only.
//
// A configuration is plain data: anchors, aliases, tags and further documents are refused, nesting and size are
// limited, and a key given twice in one map is an error that names both places. Every failure is ErrorKind::config with
// position, except a file that cannot be read (user when it is missing or not readable, io when the disk fails).
#pragma once

#include <string>
#include <string_view>

#include "models/config/node.h"

namespace reprise {

/// Parses text; `source` is the file's name in positions. The result is a map.
ConfigNode read_yaml(std::string_view text, const std::string& source);

/// Reads and parses a file.
ConfigNode read_yaml_file(const std::string& path);

}  // namespace reprise
