// Completion scripts for shells, made from what the verbs declare: verbs, their options, the values that an option
// chooses from, and the keys of the configuration where a verb takes key=value. Called by `reprise completion`.
#pragma once

#include <string>

namespace reprise {

/// `shell`: bash, zsh or fish. Errors (user): another one.
std::string completion_script(const std::string& shell);

}  // namespace reprise
