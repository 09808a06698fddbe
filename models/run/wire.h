// The two encodings that event files need: messages of protobuf's wire format, and CRC-32C (Castagnoli) as the records
// around them carry it. Used by models/run/event_file.cpp alone.
//
// A message is built field by field in any order; nested messages are built first and then put in whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace reprise::internal {

class Message {
 public:
  Message& varint(int field, std::uint64_t value) {
    tag(field, 0);
    raw_varint(value);
    return *this;
  }
  Message& real64(int field, double value) {
    tag(field, 1);
    return raw(&value, sizeof value);
  }
  Message& real32(int field, float value) {
    tag(field, 5);
    return raw(&value, sizeof value);
  }
  /// Texts, bytes, nested messages and packed lists look alike.
  Message& text(int field, std::string_view value) {
    tag(field, 2);
    raw_varint(value.size());
    bytes_.append(value);
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void tag(int field, unsigned wire_type) { raw_varint(static_cast<std::uint64_t>(field) << 3 | wire_type); }
  void raw_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  Message& raw(const void* data, std::size_t size) {  // this project runs on little-endian machines, as the format is
    bytes_.append(static_cast<const char*>(data), size);
    return *this;
  }

  std::string bytes_;
};

/// CRC-32C of `bytes`, bit by bit: the records are a few hundred bytes.
inline std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (char byte : bytes) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1u) ? crc >> 1 ^ 0x82F63B78u : crc >> 1;
  }
  return ~crc;
}

/// Rotated and shifted, so that the checksum of bytes that hold checksums stays strong (the TFRecord format).
inline std::uint32_t masked_crc32c(std::string_view bytes) {
  std::uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

/// A record: length, its checksum, the bytes, their checksum.
inline std::string framed(std::string_view bytes) {
  std::uint64_t length = bytes.size();
  std::string record(reinterpret_cast<const char*>(&length), sizeof length);
  auto add = [&](std::uint32_t crc) { record.append(reinterpret_cast<const char*>(&crc), sizeof crc); };
  add(masked_crc32c(std::string_view(record)));
  record.append(bytes);
  add(masked_crc32c(bytes));
  return record;
}

}  // namespace reprise::internal
