// Reads bytes out of plain or compressed files (.gz, .xz) and tar archives, through libarchive; into memory only.
//
// Nothing is ever written out of an archive: member names are used to choose members and in messages, never as paths.
// Every size has a limit, so that a small file that unpacks to very much is refused. A gzip file's own checksum is
// verified, which libarchive leaves out: a flipped bit in hardly compressible pixels often decodes without an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace reprise {

/// A file's bytes, uncompressed where it is a gzip or xz file, block by block.
class ByteStream {
 public:
  /// Errors (user): the path is missing, no regular file, or cannot be opened; a name ending in .xz or .gz whose
  /// content is neither.
  explicit ByteStream(const std::filesystem::path& path);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  /// The next bytes, valid until the next call; empty at the end. Errors (user): the compression is corrupt or cut
  /// short, the checksum differs; (io): the disk failed.
  std::span<const std::uint8_t> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The bytes of a file, uncompressed where needed; at most the first `first` bytes when first >= 0.
/// Errors (user): as ByteStream, or more than `limit` bytes.
std::vector<std::uint8_t> read_bytes(const std::filesystem::path& path, std::int64_t limit, std::int64_t first = -1);

struct ArchiveMember {
  std::string name;                 // as written in the archive
  std::int64_t size = 0;            // of the whole member
  std::vector<std::uint8_t> bytes;  // its first bytes, as many as were asked for
};

struct ArchiveContent {
  std::vector<ArchiveMember> members;  // the chosen ones, in the archive's order
  std::vector<std::string> names;      // of all members, for messages; the first 100
};

/// Says how many of the first bytes of a regular member to read; 0 leaves it out. May throw.
using ChooseMember = std::function<std::int64_t(const std::string& name, std::int64_t size)>;

/// Walks a tar archive (plain, .gz or .xz) to its end. Errors (user): not a tar archive, corrupt or cut short, more
/// than `limit` bytes unpacked, more than 10,000 members.
ArchiveContent read_archive(const std::filesystem::path& path, std::int64_t limit, const ChooseMember& choose);

}  // namespace reprise
