// The text of the refusal when bytes that are owed are not those that were read: a writer passed no door. Used in guard
// mode by the preserver, for states, and by autograd/seen_values.h, for values.
#pragma once

#include <string>

#include "core/region.h"
#include "core/storage.h"
#include "memory/preserver.h"

namespace reprise {

/// What a storage says of itself: how often it was written, and by whom last.
struct StorageVersion {
  Clock clock = 0;
  Writer writer;
};

inline StorageVersion version_of(const Storage& storage) { return {storage.clock(), storage.last_writer()}; }

/// Who wrote last: op, node and step; for the text of an error.
std::string said(const StorageVersion& version);

/// Errors: replay. `storage` is the name of the bytes (empty: a value), `seen` what the reader saw, `now` what the
/// bytes are by now; null where they were made anew.
[[noreturn]] void fail_other_bytes(const ReadLabel& label, const std::string& storage, const Region& region,
                                   const StorageVersion& seen, const StorageVersion* now);

}  // namespace reprise
