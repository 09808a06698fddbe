// SHA-256 (FIPS 180-4), by which the manifest of a cohort names its files, so that `sha256sum` says the same.
// Called by the reader of a cohort.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace reprise::cohort {

/// 64 hexadecimal digits.
std::string sha256(std::span<const std::uint8_t> bytes);

}  // namespace reprise::cohort
