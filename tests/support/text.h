// Questions about texts, in the order that EXPECT_PRED2 takes.
// Called by tests of messages and output.
#pragma once

#include <string>

namespace reprise::testing {

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace reprise::testing
