// Interned names: equal texts become one pointer that lives as long as the process. For labels on
// nodes and segments, which outlive the vectors that hold those.
#pragma once

#include <string_view>

namespace reprise {

/// A zero-terminated copy of `text`, the same pointer for equal texts.
const char* intern(std::string_view text);

}  // namespace reprise
