// What a record says of the circumstances: program, machine, load, time. Called by the runner when a task begins and
// when it has ended; nothing in it names a person or the machine itself.
#pragma once

#include <string>

#include "models/config/config.h"
#include "models/run/json_text.h"

namespace reprise::study {

/// `reprise`, `compiler`, `onednn`, `processor`, `isa`.
Json versions();
/// In words, what of `then` differs here; empty: nothing.
std::string differing_versions(const Json& then);

/// `started`, `load`, `versions` of work that begins now; `load.after` is null until end_circumstances().
Json circumstances();
void end_circumstances(Json& record);

/// The fields that every record of a study has, as they are before the work.
Json begin_record(const Config& study, const std::string& kind, const std::string& id, std::int64_t order,
                  std::int64_t block);
/// Fills in what is known afterwards; `error` is empty where there was none.
void end_record(Json& record, const std::string& status, const std::string& error, double elapsed_s);

}  // namespace reprise::study
