#include "data/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>

#include "core/error.h"

namespace reprise {
namespace {

constexpr std::size_t kBlockBytes = 1 << 16;
constexpr std::int64_t kMaxMembers = 10000;
constexpr std::size_t kNamesForMessages = 100;
constexpr std::size_t kFirstPiece = 1 << 20;

struct CloseArchive {
  void operator()(::archive* a) const { archive_read_free(a); }
};
using ArchivePtr = std::unique_ptr<::archive, CloseArchive>;

ArchivePtr new_reader() {
  ArchivePtr a(archive_read_new());
  if (!a) fail(ErrorKind::memory, "[archive] expected memory for a reader, got none");
  return a;
}

std::string reason(::archive* a) {
  const char* text = archive_error_string(a);
  return text ? text : "no reason given";
}

void require_regular_file(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    fail(ErrorKind::user, "[archive] expected a file at {}, got nothing there", path.string());
  }
  if (error) fail(ErrorKind::user, "[archive] cannot look at {}: {}", path.string(), error.message());
  if (status.type() != std::filesystem::file_type::regular) {
    fail(ErrorKind::user, "[archive] expected a regular file at {}, got a folder, a device or a pipe", path.string());
  }
}

}  // namespace

struct ByteStream::State {
  std::filesystem::path path;
  ArchivePtr reader;
  bool gzip = false;
  bool ended = false;
  std::uint32_t crc = 0;
  std::uint32_t length = 0;  // modulo 2^32, as in the trailer

  [[noreturn]] void fail_read() const {
    const ErrorKind kind = archive_errno(reader.get()) == EIO ? ErrorKind::io : ErrorKind::user;
    fail(kind, "[archive] cannot read {}: {}. The file is corrupt or cut short; fetch it again", path.string(),
         reason(reader.get()));
  }

  void verify_gzip_trailer() const {
    std::ifstream file(path, std::ios::binary);
    std::uint8_t tail[8] = {};
    file.seekg(-8, std::ios::end);
    file.read(reinterpret_cast<char*>(tail), 8);
    if (!file)
      fail(ErrorKind::user, "[archive] expected a gzip file with its last 8 bytes, got {}, which is shorter",
           path.string());
    const auto word = [&](int at) {
      return static_cast<std::uint32_t>(tail[at]) | static_cast<std::uint32_t>(tail[at + 1]) << 8 |
             static_cast<std::uint32_t>(tail[at + 2]) << 16 | static_cast<std::uint32_t>(tail[at + 3]) << 24;
    };
    if (word(0) != crc || word(4) != length) {
      fail(ErrorKind::user,
           "[archive] {}: expected checksum {:08x} and {} bytes as its end says, got {:08x} and {}. "
           "The file is corrupt, or bytes were added to it; fetch it again",
           path.string(), word(0), word(4), crc, length);
    }
  }
};

ByteStream::ByteStream(const std::filesystem::path& path) {
  require_regular_file(path);
  auto state = std::make_unique<State>();
  state->path = path;
  state->reader = new_reader();
  ::archive* a = state->reader.get();
  archive_read_support_filter_gzip(a);
  archive_read_support_filter_xz(a);
  archive_read_support_format_raw(a);
  std::error_code error;
  if (std::filesystem::file_size(path, error) == 0 && !error) {
    state->ended = true;  // libarchive knows no format for nothing
    state_ = std::move(state);
    return;
  }
  if (archive_read_open_filename(a, path.c_str(), kBlockBytes) != ARCHIVE_OK) {
    fail(ErrorKind::user, "[archive] cannot open {}: {}", path.string(), reason(a));
  }
  ::archive_entry* entry = nullptr;
  if (archive_read_next_header(a, &entry) != ARCHIVE_OK) state->fail_read();
  const int filter = archive_filter_code(a, 0);
  state->gzip = filter == ARCHIVE_FILTER_GZIP;
  const std::string suffix = path.extension().string();
  if ((suffix == ".gz" && !state->gzip) || (suffix == ".xz" && filter != ARCHIVE_FILTER_XZ)) {
    fail(ErrorKind::user, "[archive] expected {} to be compressed as its name ends ({}), got other bytes",
         path.string(), suffix);
  }
  state_ = std::move(state);
}

ByteStream::~ByteStream() = default;

std::span<const std::uint8_t> ByteStream::next() {
  State& s = *state_;
  while (!s.ended) {
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int result = archive_read_data_block(s.reader.get(), &block, &size, &offset);
    if (result == ARCHIVE_EOF) {
      s.ended = true;
      if (s.gzip) s.verify_gzip_trailer();
      break;
    }
    if (result != ARCHIVE_OK) s.fail_read();
    std::span<const std::uint8_t> bytes(static_cast<const std::uint8_t*>(block), size);
    if (s.gzip) {
      s.crc = static_cast<std::uint32_t>(crc32_z(s.crc, bytes.data(), bytes.size()));
      s.length += static_cast<std::uint32_t>(size);
    }
    if (size > 0) return bytes;
  }
  return {};
}

std::vector<std::uint8_t> read_bytes(const std::filesystem::path& path, std::int64_t limit, std::int64_t first) {
  ByteStream stream(path);
  std::vector<std::uint8_t> out;
  std::error_code error;
  const auto on_disk = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  if (!error) out.reserve(static_cast<std::size_t>(std::min(first >= 0 ? std::min(first, limit) : limit, on_disk)));
  while (first < 0 || static_cast<std::int64_t>(out.size()) < first) {
    const auto bytes = stream.next();
    if (bytes.empty()) return out;
    out.insert(out.end(), bytes.begin(), bytes.end());
    if (static_cast<std::int64_t>(out.size()) > limit && (first < 0 || first > limit)) {
      fail(ErrorKind::user, "[archive] expected at most {} bytes in {}, got more", limit, path.string());
    }
  }
  out.resize(static_cast<std::size_t>(first));
  return out;
}

namespace {

/// Feeds the tar reader from a ByteStream. An exception cannot cross the C library, so it waits here.
struct TarSource {
  ByteStream stream;
  std::int64_t limit;
  std::int64_t read = 0;
  std::exception_ptr error;

  TarSource(const std::filesystem::path& path, std::int64_t limit_in) : stream(path), limit(limit_in) {}

  static la_ssize_t feed(::archive* a, void* context, const void** block) {
    auto& self = *static_cast<TarSource*>(context);
    try {
      const auto bytes = self.stream.next();
      self.read += static_cast<std::int64_t>(bytes.size());
      if (self.read > self.limit) {
        fail(ErrorKind::user, "[archive] expected at most {} bytes unpacked, got more", self.limit);
      }
      *block = bytes.data();
      return static_cast<la_ssize_t>(bytes.size());
    } catch (...) {
      self.error = std::current_exception();
      archive_set_error(a, EIO, "the source failed");
      return -1;
    }
  }
};

ArchiveMember read_member(::archive* a, TarSource& source, const std::filesystem::path& path, std::string name,
                          std::int64_t size, std::int64_t first) {
  ArchiveMember member{std::move(name), size, {}};
  const auto wanted = static_cast<std::size_t>(std::min(size, first));
  std::size_t got = 0;
  // Piece by piece, since memory is for bytes that are there and not for those that a header speaks of.
  while (got < wanted) {
    member.bytes.resize(std::min(wanted, std::max(got * 2, kFirstPiece)));
    const la_ssize_t n = archive_read_data(a, member.bytes.data() + got, member.bytes.size() - got);
    if (source.error) std::rethrow_exception(source.error);
    if (n > 0) got += static_cast<std::size_t>(n);
    if (n <= 0 || got < member.bytes.size()) break;
  }
  if (got != wanted) {
    fail(ErrorKind::user,
         "[archive] {}: expected {} bytes of {}, got {} before the archive ends or breaks: {}. Fetch it again",
         path.string(), wanted, member.name, got, reason(a));
  }
  return member;
}

}  // namespace

ArchiveContent read_archive(const std::filesystem::path& path, std::int64_t limit, const ChooseMember& choose) {
  TarSource source(path, limit);
  ArchivePtr reader = new_reader();
  ::archive* a = reader.get();
  archive_read_support_format_tar(a);
  ArchiveContent content;
  int result = archive_read_open(a, &source, nullptr, &TarSource::feed, nullptr);
  std::int64_t count = 0;
  while (result == ARCHIVE_OK || result == ARCHIVE_WARN) {
    ::archive_entry* entry = nullptr;
    result = archive_read_next_header(a, &entry);
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) break;
    if (++count > kMaxMembers) {
      fail(ErrorKind::user, "[archive] expected at most {} members in {}, got more", kMaxMembers, path.string());
    }
    const char* text = archive_entry_pathname(entry);
    std::string name = text ? text : "(unreadable name)";
    if (content.names.size() < kNamesForMessages) content.names.push_back(name);
    // Links and devices are left alone: only a member with bytes of its own can be data.
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry)) continue;
    const std::int64_t size = archive_entry_size(entry);
    const std::int64_t first = choose(name, size);
    if (first > 0 && archive_entry_sparse_count(entry) > 0) {
      // A few bytes of a sparse member may stand for gigabytes; no tool that packs images makes one.
      fail(ErrorKind::user, "[archive] {}: expected {} as plain bytes, got a member with holes", path.string(), name);
    }
    if (first > 0) content.members.push_back(read_member(a, source, path, std::move(name), size, first));
  }
  if (source.error) std::rethrow_exception(source.error);
  if (result != ARCHIVE_EOF) {
    fail(ErrorKind::user, "[archive] cannot read {} as a tar archive: {}", path.string(), reason(a));
  }
  while (!source.stream.next().empty()) {  // to the end, where the checksum is
  }
  return content;
}

}  // namespace reprise
