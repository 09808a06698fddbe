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

/// The Python interpreter of tests, as a word of the shell. `tools/test --full` names one that has the packages.
inline std::string python() {
  const char* named = std::getenv("REPRISE_PYTHON");
  return "'" + std::string(named && *named ? named : "python3") + "'";
}

/// Why a test that needs these modules ("numpy, safetensors.numpy") cannot run; empty where they are there.
inline std::string python_lacks(const std::string& modules) {
  if (std::system((python() + " -c 'import " + modules + "' >/dev/null 2>&1").c_str()) == 0) return "";
  return python() + " cannot import " + modules + " (REPRISE_PYTHON names another; tools/test --full makes one)";
}

}  // namespace reprise::testing
