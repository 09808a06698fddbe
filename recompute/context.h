// Context keys: what a recomputation depends on besides bytes, draws and attributes: threads, kernels, guard mode.
//
// The list is closed: only registered keys can be read, so that nothing a kernel depends on escapes the contracts.
// Ops and programs register keys of their own. A replayed segment's context is noted as it is recorded and compared
// before its first node runs again; where it differs the replay is refused and nothing has moved.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autograd/tape.h"

namespace reprise {

struct ContextKey {
  const char* name;   // "threads"
  const char* about;  // one clause: "threads of the pool, which split the sums of some kernels"
  std::string (*read)(const Tape& tape);
};

/// All keys in order of registration, the built-in ones first.
const std::vector<ContextKey>& context_keys();

/// Adds a key. `read` gives a short text that is equal exactly when kernels behave alike. Errors (user): the name is
/// taken.
void register_context_key(const ContextKey& key);

/// The present value of one key. Errors (user): a key that nobody registered; the text lists those there are.
std::string read_context(const std::string& name, const Tape& tape);

/// The present values of all keys, in their order.
std::vector<std::string> read_contexts(const Tape& tape);

/// Notes the present context as that of `segment`; a second call adds what has changed since.
void note_context_of(Tape& tape, std::uint32_t segment);

/// Errors (replay): the present context differs from the one noted for `segment`.
void require_context_of(const Tape& tape, std::uint32_t segment);

}  // namespace reprise
