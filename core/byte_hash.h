// XXH3 of bytes, 64 bits wide: of bytes given piece by piece (ByteHash) or at once (hash_bytes), as a number or as
// sixteen hexadecimal digits. Used by every room that says by a short text or number what bytes there were, and by
// nothing that an adversary writes. Pieces have the hash of the whole: only the bytes and their order count.
// Fingerprints in configurations and records are these hashes, so what is hashed here may never hash otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace reprise {

std::uint64_t hash_bytes(const void* data, std::size_t bytes);
inline std::uint64_t hash_bytes(std::string_view text) { return hash_bytes(text.data(), text.size()); }

/// Sixteen hexadecimal digits.
std::string hash_text(std::uint64_t hash);

class ByteHash {
 public:
  ByteHash();  // errors: std::bad_alloc
  ~ByteHash();
  ByteHash(const ByteHash&) = delete;
  ByteHash& operator=(const ByteHash&) = delete;

  void add(const void* data, std::size_t bytes);
  void add(std::string_view text) { add(text.data(), text.size()); }
  template <class T>
  void add_values(std::span<const T> values) {
    add(values.data(), values.size_bytes());
  }

  std::size_t bytes() const { return bytes_; }
  /// Of all bytes so far.
  std::uint64_t value() const;
  std::string text() const { return hash_text(value()); }

 private:
  XXH3_state_s* state_;
  std::size_t bytes_ = 0;
};

}  // namespace reprise
