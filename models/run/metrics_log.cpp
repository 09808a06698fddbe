#include "models/run/metrics_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "core/error.h"
#include "data/text_file.h"
#include "recompute/json_parse.h"

namespace reprise {
namespace {

constexpr std::int64_t kLongestLine = 16 << 20;

/// The step of a line; -1 for an object without one; nothing when the line is no JSON object.
std::optional<std::int64_t> step_of(const std::string& line) {
  Json value = json_or_discarded(line);
  if (!value.is_object()) return std::nullopt;
  auto step = value.find("step");
  return step != value.end() && step->is_number_integer() ? step->get<std::int64_t>() : -1;
}

}  // namespace

MetricsLog::MetricsLog(std::filesystem::path path) : path_(std::move(path)) {
  // Without waiting, or a pipe put there would hold the run until somebody reads from it.
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
  if (descriptor_ < 0) fail_errno("run folder", "open", path_.native(), errno);
}

MetricsLog::MetricsLog(MetricsLog&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      lines_(other.lines_),
      reader_(std::move(other.reader_)) {}

MetricsLog::~MetricsLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void MetricsLog::append(const Json& line) {
  std::string text = json_line(line) + "\n";
  off_t before = ::lseek(descriptor_, 0, SEEK_END);
  std::size_t done = 0;
  while (done < text.size()) {
    ssize_t written = ::write(descriptor_, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      int error = errno;
      if (done > 0 && before >= 0) [[maybe_unused]]
        int cut = ::ftruncate(descriptor_, before);
      fail_errno("run folder", "write", path_.native(), error);
    }
    done += static_cast<std::size_t>(written);
  }
  ++lines_;
  if (reader_) reader_(line);
}

void MetricsLog::truncate_after(std::int64_t step, std::int64_t most) {
  off_t offset = 0, keep = 0;
  std::int64_t number = 0, torn = 0;
  bool cut = false;
  lines_ = 0;
  // The last line of a killed process may lack its end.
  read_lines(path_, "run folder", kLongestLine, [&](std::string& line, bool complete) {
    ++number;
    offset += static_cast<off_t>(line.size()) + (complete ? 1 : 0);
    auto at = complete ? step_of(line) : std::nullopt;
    if (at && torn > 0) {
      fail(ErrorKind::io,
           "[run folder] {}:{}: expected a JSON object, got something else. The file was changed from outside",
           path_.string(), torn);
    }
    if (!at && torn == 0) torn = number;
    if (!at || *at > step || number > most) cut = true;
    if (!cut) keep = offset, lines_ = number;
  });
  if (::ftruncate(descriptor_, keep) != 0) fail_errno("run folder", "cut", path_.native(), errno);
}

void MetricsLog::sync() {
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail_errno("run folder", "sync", path_.native(), errno);
}

std::vector<Json> read_metrics(const std::filesystem::path& path, std::string_view who) {
  std::vector<Json> lines;
  std::int64_t number = 0;
  read_lines(path, who, kLongestLine, [&](std::string& text, bool whole) {
    ++number;
    Json line = json_or_discarded(text);
    bool good = line.is_object() && line.contains("step") && line["step"].is_number_integer();
    if (good) lines.push_back(std::move(line));
    if (good || !whole) return;
    fail(ErrorKind::io, "[{}] {}:{}: expected a JSON object with a step, got something else", who, path.string(),
         number);
  });
  return lines;
}

}  // namespace reprise
