#include "models/run/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace reprise {

std::string readable_bytes(std::int64_t bytes) {
  constexpr const char* kNames[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double number = static_cast<double>(bytes);
  int unit = 0;
  while (number >= 1024 && unit < 4) {
    number /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", number, kNames[unit]);
}

std::string counted(std::int64_t number, const std::string& one) {
  return fmt::format("{} {}{}", number, one, number == 1 ? "" : "s");
}

std::string readable_seconds(double seconds) {
  auto whole = static_cast<std::int64_t>(std::llround(std::clamp(seconds, 0.0, 1e12)));
  std::int64_t minutes = whole / 60;
  if (minutes < 60) return fmt::format("{}:{:02}", minutes, whole % 60);
  return fmt::format("{}:{:02}:{:02}", minutes / 60, minutes % 60, whole % 60);
}

std::string progress_text(const ProgressState& state, int width) {
  std::string step =
      state.steps > 0 ? fmt::format("step {}/{}", state.step, state.steps) : fmt::format("step {}", state.step);
  std::vector<std::string> fields{state.stage};
  if (state.epochs > 0) fields.push_back(fmt::format("epoch {}/{}", state.epoch, state.epochs));
  fields.push_back(step);
  std::size_t must_keep = fields.size();
  fields.push_back(fmt::format("loss {:.4f}", state.loss));
  if (state.per_second > 0) fields.push_back(fmt::format("{:.0f} {}/s", state.per_second, state.unit));
  if (state.peak_bytes > 0) fields.push_back("peak " + readable_bytes(state.peak_bytes));
  if (state.seconds_left >= 0) fields.push_back(readable_seconds(state.seconds_left) + " left");
  auto joined = [&] {
    std::string text;
    for (const std::string& field : fields) text += (text.empty() ? "" : " | ") + field;
    return text;
  };
  auto limit = static_cast<std::size_t>(std::max(width, 1));
  while (fields.size() > must_keep && joined().size() > limit) fields.pop_back();
  std::string text = joined();
  if (text.size() > limit) text = step.substr(0, limit);
  return text;
}

TimeLeft::TimeLeft(std::int64_t first_step) : first_step_(first_step), start_(std::chrono::steady_clock::now()) {}

double TimeLeft::elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

double TimeLeft::seconds(std::int64_t step, std::int64_t steps) const {
  std::int64_t done = step - first_step_;
  if (done < 2) return -1;
  return elapsed() / static_cast<double>(done) * static_cast<double>(std::max<std::int64_t>(steps - step, 0));
}

Progress::Progress(ProgressMode mode, std::int64_t log_every, std::FILE* out)
    : mode_(mode), log_every_(std::max<std::int64_t>(log_every, 1)), out_(out) {
  if (mode_ == ProgressMode::automatic) mode_ = ::isatty(::fileno(out_)) ? ProgressMode::line : ProgressMode::plain;
}

Progress::~Progress() { finish(); }

int Progress::width() const {
  winsize size{};
  if (::ioctl(::fileno(out_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

void Progress::update(const ProgressState& state) {
  if (mode_ == ProgressMode::quiet) return;
  bool last = state.steps > 0 && state.step == state.steps;
  if (mode_ == ProgressMode::plain) {
    if (!last && state.step % log_every_ != 0) return;
    std::fputs((progress_text(state, 1 << 20) + "\n").c_str(), out_);
    std::fflush(out_);
    return;
  }
  constexpr std::chrono::milliseconds kBetween{100};  // more often than that nobody can read
  auto now = std::chrono::steady_clock::now();
  if (line_open_ && !last && now - last_shown_ < kBetween) return;
  last_shown_ = now;
  // The last column stays empty: a terminal that wraps there would start a new line.
  std::fputs(fmt::format("\r{}\x1b[K", progress_text(state, width() - 1)).c_str(), out_);
  std::fflush(out_);
  line_open_ = true;
}

void Progress::clear_line() {
  if (!line_open_) return;
  std::fputs("\r\x1b[K", out_);
  line_open_ = false;
}

void Progress::note(const std::string& text) {
  if (mode_ == ProgressMode::quiet) return;
  clear_line();
  std::fputs((text + "\n").c_str(), out_);
  std::fflush(out_);
}

void Progress::finish() {
  if (!line_open_) return;
  std::fputc('\n', out_);
  std::fflush(out_);
  line_open_ = false;
}

}  // namespace reprise
