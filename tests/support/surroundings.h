// What lies outside the checkout: the data shared between checkouts and the Python to ask.
// Called by tests that skip with a reason where it is missing.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace reprise::testing {

/// The folder of data shared between checkouts; may be missing.
inline std::filesystem::path shared_folder() {
  const char* named = std::getenv("REPRISE_SHARED");
  return named ? named : std::filesystem::path(REPRISE_SOURCE_DIR) / ".." / "shared";
}

/// The conformance programs that all frameworks run; may be missing.
inline std::string shared_programs() { return (shared_folder() / "conformance" / "public").string(); }

/// The Python interpreter of tests, by path or name.
inline std::string python() {
  const char* named = std::getenv("REPRISE_PYTHON");
  return named ? named : "python3";
}

}  // namespace reprise::testing
