#include "data/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/error.h"

namespace reprise {
namespace {

// The kernel takes at most about 2 GiB a call.
constexpr std::size_t kLargestWrite = std::size_t{1} << 30;

/// Closes and removes the partial file unless the rename has made it the real one.
struct PartialFile {
  std::filesystem::path path;
  int descriptor = -1;
  bool renamed = false;

  explicit PartialFile(std::filesystem::path p) : path(std::move(p)) {
    // An old partial file, whatever it is, is removed first, so that a link put there is not followed.
    ::unlink(path.c_str());
    descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) fail_errno("write file", "create", path.native(), errno);
  }
  ~PartialFile() {
    if (descriptor >= 0) ::close(descriptor);
    if (!renamed) ::unlink(path.c_str());
  }
  void close() {
    const int result = ::close(descriptor);
    descriptor = -1;
    if (result != 0) fail_errno("write file", "close", path.native(), errno);
  }
};

/// Makes the rename itself durable. Some file systems cannot sync a folder and say EINVAL; they do it by themselves.
void sync_folder(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail_errno("write file", "open the folder", folder.native(), errno);
  const int result = ::fsync(descriptor);
  const int error = errno;
  ::close(descriptor);
  if (result != 0 && error != EINVAL) fail_errno("write file", "sync the folder", folder.native(), error);
}

std::filesystem::path partial_name(const std::filesystem::path& path) {
  std::filesystem::path partial = path;
  partial += ".partial";
  return partial;
}

/// A file that is read from its beginning to its end.
struct OpenFile {
  int descriptor;
  explicit OpenFile(const std::filesystem::path& path) : descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor < 0) fail_errno("write file", "open", path.native(), errno);
  }
  ~OpenFile() { ::close(descriptor); }
};

void copy_contents(const std::filesystem::path& from, const std::filesystem::path& to) {
  OpenFile source(from);
  write_file_atomically(to, [&](FileWriter& writer) {
    std::vector<char> block(1 << 20);
    while (true) {
      ssize_t got = ::read(source.descriptor, block.data(), block.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_errno("write file", "read", from.native(), errno);
      if (got == 0) return;
      writer.write(block.data(), static_cast<std::size_t>(got));
    }
  });
}

}  // namespace

void FileWriter::write(const void* data, std::size_t bytes) {
  const auto* p = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::write(descriptor_, p, std::min(bytes, kLargestWrite));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno("write file", "write", path_.native(), errno);
    p += n;
    bytes -= static_cast<std::size_t>(n);
    written_ += n;
  }
}

void write_file_atomically(const std::filesystem::path& path, const std::function<void(FileWriter&)>& fill) {
  PartialFile partial(partial_name(path));
  FileWriter writer(partial.descriptor, path);
  fill(writer);
  if (::fsync(partial.descriptor) != 0) fail_errno("write file", "sync", path.native(), errno);
  partial.close();
  if (::rename(partial.path.c_str(), path.c_str()) != 0)
    fail_errno("write file", "rename the new file to", path.native(), errno);
  partial.renamed = true;
  sync_folder(path);
}

void name_file_atomically(const std::filesystem::path& target, const std::filesystem::path& path) {
  const std::filesystem::path partial = partial_name(path);
  ::unlink(partial.c_str());
  if (::link(target.c_str(), partial.c_str()) != 0) return copy_contents(target, path);
  if (::rename(partial.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(partial.c_str());
    fail_errno("write file", "rename the new file to", path.native(), error);
  }
  ::unlink(partial.c_str());  // where both were names of one file already, rename leaves both
  sync_folder(path);
}

void write_file_atomically(const std::filesystem::path& path, std::string_view contents) {
  write_file_atomically(path, [&](FileWriter& writer) { writer.write(contents); });
}

}  // namespace reprise
