// Methods that need no planner, as segment policies: what each segment does with its values and how state is preserved.
// Used by the trainer, conform and tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "autograd/tape.h"

namespace reprise {

enum class Method : std::uint8_t {
  retain,     // all values kept; whole copies where a formula reads overwritten bytes
  whole,      // all segments replayed; whole copies of state
  region,     // all segments replayed; only the bytes that matter
  mixed,      // each option drawn per segment from a seed; for tests
  unchecked,  // the negative control: replay against live bytes, nothing preserved
};

/// What every run under `unchecked` says on the standard error, whatever else it prints.
constexpr const char* kUncheckedWarning =
    "warning: method unchecked preserves nothing: replays see whatever bytes are there, so its gradients are not to be "
    "trusted";

const char* to_string(Method method);
/// Errors (user): no such method; the text lists them.
Method parse_method(const std::string& text);

/// What `method` does with every segment. Errors (internal): `mixed`, which has no one answer.
SegmentOption segment_option(Method method);

/// A policy that gives every segment the option of `method`. `seed` matters to `mixed` only.
std::unique_ptr<SegmentPolicy> make_policy(Method method, std::uint64_t seed = 0);

}  // namespace reprise
