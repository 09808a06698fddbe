// Reads one key=value argument of the command line, in the grammar of Hydra's overrides. Called by load_config only.
//
//   a.b=value     sets a key            +a.b=value   sets a key that the file does not set
//   ++a.b=value   sets a key            ~a.b         puts a key (or a whole section) back to its default
//
// A value is null, a bare word, a quoted text ('..' or "..", a backslash before the quote or a backslash), a list [a,
// b] or a map {a: b, c: d}. Sweeps (a=1,2), functions and ${interpolation} are refused with a hint.
#pragma once

#include <string>
#include <vector>

#include "models/config/node.h"

namespace reprise {

/// One argument as typed; `argument` is its number on the command line, as error texts name it.
struct OverrideText {
  std::string text;
  int argument = 0;
};

/// Numbers arguments from `first`.
std::vector<OverrideText> number_overrides(const std::vector<std::string>& texts, int first = 1);

struct Override {
  enum class Action : std::uint8_t { set, add, remove };
  Action action = Action::set;
  std::string key;
  Position position;  // of the key
  bool has_value = false;
  ConfigNode value;
};

/// Errors (config) name the argument and the column.
Override read_override(const OverrideText& argument);

}  // namespace reprise
