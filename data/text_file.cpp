#include "data/text_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include "core/error.h"
#include "core/interrupt.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTextBlockBytes = 1 << 16;
constexpr double kSecondsForAWriter = 2;

class TextSource {
 public:
  TextSource(const fs::path& path, std::string_view who) : path_(path), who_(who), buffer_(kTextBlockBytes) {
    // Without waiting, or a pipe that nobody writes to would hold the program for good.
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor_ < 0) fail_with("open", errno);
    struct ::stat status {};
    if (::fstat(descriptor_, &status) == 0) {
      pipe_ = S_ISFIFO(status.st_mode);
      if (S_ISREG(status.st_mode)) size_ = static_cast<std::int64_t>(status.st_size);
      if (S_ISDIR(status.st_mode)) close_and_fail(EISDIR);
    }
  }
  TextSource(const TextSource&) = delete;
  TextSource& operator=(const TextSource&) = delete;
  ~TextSource() { ::close(descriptor_); }

  /// Of a regular file, before it is read; 0 otherwise.
  std::int64_t size() const { return size_; }
  /// The next bytes; empty at the end.
  std::string_view next() {
    while (true) {
      ssize_t got = ::read(descriptor_, buffer_.data(), buffer_.size());
      if (got > 0) {
        begun_ = true;
        return {buffer_.data(), static_cast<std::size_t>(got)};
      }
      if (got == 0 && (!pipe_ || begun_)) return {};
      if (got == 0) {
        wait_for_writer();
      } else if (errno == EAGAIN) {
        begun_ = true;  // somebody is at the other end
        ::pollfd wait{descriptor_, POLLIN, 0};
        ::poll(&wait, 1, 200);
      } else if (errno != EINTR) {
        fail_with("read", errno);
      }
      if (stop_requested()) throw Interrupted{"waiting for a file"};
    }
  }

 private:
  [[noreturn]] void fail_with(const char* what, int error) const {
    bool disk = error == EIO || error == ENOMEM || error == EMFILE || error == ENFILE;
    fail(disk ? ErrorKind::io : ErrorKind::user, "[{}] cannot {} {}: {}", who_, what, path_.string(),
         std::strerror(error));
  }
  [[noreturn]] void close_and_fail(int error) {
    ::close(descriptor_);
    fail_with("read", error);
  }

  void wait_for_writer() {
    auto now = std::chrono::steady_clock::now();
    if (first_look_ == std::chrono::steady_clock::time_point{}) first_look_ = now;
    if (std::chrono::duration<double>(now - first_look_).count() > kSecondsForAWriter) {
      fail(ErrorKind::user, "[{}] expected a file at {}, got a pipe that nobody writes to", who_, path_.string());
    }
    ::poll(nullptr, 0, 20);
  }

  const fs::path& path_;
  std::string_view who_;
  std::vector<char> buffer_;
  int descriptor_ = -1;
  bool pipe_ = false, begun_ = false;
  std::int64_t size_ = 0;
  std::chrono::steady_clock::time_point first_look_{};
};

}  // namespace

std::string read_text_file(const fs::path& path, std::string_view who, std::int64_t limit) {
  TextSource source(path, who);
  std::string text;
  while (true) {
    if (std::max(source.size(), static_cast<std::int64_t>(text.size())) > limit) {
      fail(ErrorKind::user, "[{}] expected at most {} bytes in {}, got more", who, limit, path.string());
    }
    std::string_view part = source.next();
    if (part.empty()) return text;
    text += part;
  }
}

void read_lines(const fs::path& path, std::string_view who, std::int64_t limit,
                const std::function<void(std::string& line, bool whole)>& line) {
  TextSource source(path, who);
  std::string open;
  for (std::string_view part = source.next(); !part.empty(); part = source.next()) {
    while (!part.empty()) {
      std::size_t end = part.find('\n');
      open += part.substr(0, end);
      if (static_cast<std::int64_t>(open.size()) > limit) {
        fail(ErrorKind::user, "[{}] expected lines of at most {} bytes in {}, got a longer one", who, limit,
             path.string());
      }
      if (end == std::string_view::npos) break;
      line(open, true);
      open.clear();
      part.remove_prefix(end + 1);
    }
  }
  if (!open.empty()) line(open, false);
}

}  // namespace reprise
