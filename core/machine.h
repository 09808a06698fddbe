// The machine that this process runs on, as far as figures measured on it depend on it. Called by profiles, benches and
// the doctor.
#pragma once

#include <string>

namespace reprise {

/// The processor's name as the kernel tells it, or "unknown processor".
std::string processor_name();

}  // namespace reprise
