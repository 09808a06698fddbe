// How much memory this process may use at most: the machine's memory and swap, or its control group's limit if lower.
// The arena asks once, so that running out is an error with a text and not a kill by the system.
#pragma once

#include <cstdint>

namespace reprise {

/// Bytes; a huge number when the system does not say.
std::int64_t machine_memory_bytes();

}  // namespace reprise
