// ByteHash: XXH3 over bytes given piece by piece, as sixteen hexadecimal digits. Used by checkpoints and by evaluations
// that say what came out as one short text: equal texts mean equal bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace reprise {

class ByteHash {
 public:
  ByteHash();
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
  std::string text() const;

 private:
  XXH3_state_s* state_;
  std::size_t bytes_ = 0;
};

}  // namespace reprise
