// The list of op families that come with the project. Programs and tests call it once, before the first tape, which
// makes strided operands contiguous by the registered op that says that it copies (Op::copies).
#pragma once

namespace reprise {

/// Registers every built-in op; calling it again does nothing.
void register_builtin_ops();

}  // namespace reprise
