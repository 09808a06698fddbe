// What the program was built with. The build passes REPRISE_BUILD_TYPE and others of that beginning.
#include <CLI/Version.hpp>
#include <Eigen/Core>
#include <archive.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <openssl/crypto.h>
#include <xxhash.h>

#include "ops/onednn.h"
#include "tools/cli/commit.h"
#include "tools/doctor/doctor.h"

namespace reprise::doctor {

Section program() {
  Section s{"program", {}};
  auto add = [&](const char* name, std::string text) { s.facts.emplace_back(name, std::move(text)); };
  add("version", REPRISE_VERSION);
  add("commit", build_commit());
  add("compiler", fmt::format("{} {}",
#if defined(__clang__)
                              "clang",
#else
                              "gcc",
#endif
                              __VERSION__));
  add("build", REPRISE_BUILD_TYPE);
  add("flags", REPRISE_BUILD_FLAGS);
  add("options", REPRISE_BUILD_OPTIONS);
  add("oneDNN", onednn::version());
  add("Eigen", fmt::format("{}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION));
  add("libarchive", archive_version_details());
  unsigned xxhash = XXH_versionNumber();
  add("xxHash", fmt::format("{}.{}.{}", xxhash / 10000, xxhash / 100 % 100, xxhash % 100));
  add("fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100));
  add("nlohmann-json",
      fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH));
  add("CLI11", CLI11_VERSION);
  add("yaml-cpp", REPRISE_BUILD_YAML_CPP);
  add("OpenSSL", OpenSSL_version(OPENSSL_VERSION));
  return s;
}

}  // namespace reprise::doctor
