#include "data/atomic_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "core/error.h"
#include "core/interrupt.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

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

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

/// Makes the rename itself durable. Some file systems cannot sync a folder and say EINVAL; they do it by themselves.
void sync_folder(const std::filesystem::path& file) {
  const fs::path folder = folder_of(file);
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

/// What a chain of symbolic links ends in, whether that is there or not.
fs::path behind_links(fs::path path) {
  std::error_code error;
  for (int links = 0; links < 40 && fs::is_symlink(fs::symlink_status(path, error)); ++links) {
    fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

/// Files, and what is not there yet; all else is written through.
bool is_written_atomically(fs::file_status status) {
  return fs::is_regular_file(status) || status.type() == fs::file_type::not_found;
}

/// A device, or a pipe once it has a reader: waiting can be interrupted.
struct OpenForWriting {
  int descriptor = -1;
  explicit OpenForWriting(const fs::path& path) {
    while ((descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) < 0) {
      std::error_code error;
      if (errno != ENXIO || !fs::is_fifo(path, error)) fail_errno("write file", "open", path.native(), errno);
      if (stop_requested()) throw Interrupted{"waiting for a reader of the pipe"};
      ::poll(nullptr, 0, 20);
    }
    ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  }
  OpenForWriting(const OpenForWriting&) = delete;
  ~OpenForWriting() { ::close(descriptor); }
};

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

void make_output_folder(const fs::path& path, std::string_view who) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_directory(path, error))
    fail(ErrorKind::user, "[{}] expected a folder, {} is a file", who, path.string());
  fs::create_directories(path, error);
  if (!error) return;
  bool mistake = error == std::errc::not_a_directory || error == std::errc::permission_denied ||
                 error == std::errc::filename_too_long;
  fail(mistake ? ErrorKind::user : ErrorKind::io, "[{}] cannot make the folder {}: {}", who, path.string(),
       error.message());
}

void check_output(const fs::path& path, std::string_view who, const std::vector<fs::path>& inputs) {
  if (path.empty() || is_standard_output(path)) return;
  fs::path target = behind_links(path);
  std::error_code error;
  fs::file_status status = fs::status(target, error);
  auto refuse = [&](const std::string& reason) {
    fail(ErrorKind::user, "[{}] cannot write {}: {}", who, path.string(), reason);
  };
  if (fs::is_directory(status)) refuse("it is a folder. Name a file");
  for (const fs::path& input : inputs) {
    if (fs::is_regular_file(status) && fs::equivalent(target, input, error))
      refuse("it is read from. Name another file");
  }
  fs::path folder = folder_of(target);
  if (!is_written_atomically(status)) {
    if (::access(target.c_str(), W_OK) != 0) refuse(std::strerror(errno));
  } else if (!fs::is_directory(folder, error)) {
    refuse(fmt::format("there is no folder {}", folder.string()));
  } else if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    refuse(fmt::format("the folder {}: {}", folder.string(), std::strerror(errno)));
  }
}

std::int64_t write_output(const fs::path& path, const std::function<void(FileWriter&)>& fill) {
  std::int64_t bytes = 0;
  auto counted = [&](FileWriter& writer) {
    fill(writer);
    bytes = writer.written();
  };
  if (is_standard_output(path)) {
    std::fflush(stdout);
    FileWriter writer(STDOUT_FILENO, path);
    counted(writer);
    return bytes;
  }
  check_output(path, "write file");
  fs::path target = behind_links(path);
  std::error_code error;
  if (is_written_atomically(fs::status(target, error))) {
    write_file_atomically(target, counted);
  } else {
    OpenForWriting open(target);
    FileWriter writer(open.descriptor, path);
    counted(writer);
  }
  return bytes;
}

std::int64_t write_output(const fs::path& path, std::string_view contents) {
  return write_output(path, [&](FileWriter& writer) { writer.write(contents); });
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
