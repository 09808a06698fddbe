// The list of op families that come with the project. Called once by programs and tests before they walk the registry;
// wrapper functions work without it.
#pragma once

namespace reprise {

/// Registers every built-in op; calling it again does nothing.
void register_builtin_ops();

}  // namespace reprise
