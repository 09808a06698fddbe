// What a program needs that starts itself, or another, and reads its words: its own file, and the ends of texts.
// Called by benches and studies; a text that says nothing has an empty last line.
#pragma once

#include <string>

#include "models/run/json_text.h"

namespace reprise::process {

/// The file of the running program. `who` heads the error. Errors (io): the system does not say.
std::string own_program(const char* who);

/// The last line that is not empty, whole.
std::string last_line(const std::string& text);
/// The last lines of a text, at most `lines` of them and 1,000 bytes: the last words of a process.
std::string last_lines(const std::string& text, int lines);
/// The last line as JSON; discarded (is_discarded()) where it is none.
Json last_json(const std::string& text);

}  // namespace reprise::process
