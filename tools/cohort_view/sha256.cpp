#include "tools/cohort_view/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "core/error.h"

namespace reprise::cohort {

std::string sha256(std::span<const std::uint8_t> bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1)
    fail(ErrorKind::internal, "[cohort] expected a SHA-256 from libcrypto, got a failure");
  std::string text;
  for (unsigned int i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace reprise::cohort
