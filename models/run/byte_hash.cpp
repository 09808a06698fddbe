#include "models/run/byte_hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace reprise {

ByteHash::ByteHash() : state_(XXH3_createState()) { XXH3_64bits_reset(state_); }
ByteHash::~ByteHash() { XXH3_freeState(state_); }

void ByteHash::add(const void* data, std::size_t bytes) {
  XXH3_64bits_update(state_, data, bytes);
  bytes_ += bytes;
}

std::string ByteHash::text() const { return fmt::format("{:016x}", XXH3_64bits_digest(state_)); }

}  // namespace reprise
