#include "core/byte_hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace reprise {

std::uint64_t hash_bytes(const void* data, std::size_t bytes) { return XXH3_64bits(data, bytes); }

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

ByteHash::ByteHash() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_64bits_reset(state_);
}
ByteHash::~ByteHash() { XXH3_freeState(state_); }

void ByteHash::add(const void* data, std::size_t bytes) {
  XXH3_64bits_update(state_, data, bytes);
  bytes_ += bytes;
}

std::uint64_t ByteHash::value() const { return XXH3_64bits_digest(state_); }

}  // namespace reprise
