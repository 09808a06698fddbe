// The list of op families that come with the project. Programs and tests call it once, before the first tape: the tape
// finds the op that makes strided operands contiguous here.
#pragma once

namespace reprise {

/// Registers every built-in op; calling it again does nothing.
void register_builtin_ops();

}  // namespace reprise
