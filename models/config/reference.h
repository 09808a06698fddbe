// The reference of all configuration keys, made from their declarations. Called by `reprise config --reference`.
// Both forms list every declared key: none can be missing.
#pragma once

#include <string>

#include "models/config/schema.h"

namespace reprise {

/// Every key with type, unit, default, range and meaning, for a terminal `width` columns wide.
std::string reference_text(const Schema& schema, int width = 100);

/// The same as tables in Markdown.
std::string reference_markdown(const Schema& schema);

}  // namespace reprise
