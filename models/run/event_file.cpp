#include "models/run/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/error.h"
#include "data/folder.h"
#include "models/run/wire.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using internal::Message;

constexpr const char* kName = "events.out.tfevents.";

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Field numbers below are those of TensorBoard's event.proto, summary.proto and hparams/plugin_data.proto.

Message event(std::int64_t step) {
  Message message;
  message.real64(1, wall_time()).varint(2, static_cast<std::uint64_t>(step));
  return message;
}

std::string record(const Message& message) { return internal::framed(message.bytes()); }

std::string restart_record(std::int64_t step) {
  constexpr std::uint64_t kStart = 1;
  return record(event(step).message(7, Message().varint(1, kStart)));
}

/// google.protobuf.Value.
Message setting_value(const Json& value) {
  if (value.is_boolean()) return Message().varint(4, value.get<bool>() ? 1 : 0);
  if (value.is_number()) return Message().real64(2, value.get<double>());
  return Message().text(3, value.is_string() ? value.get<std::string>() : json_line(value));
}

/// A summary of the plugin `hparams`. It carries a tensor that nobody reads, because summaries without one are dropped.
std::string settings_record(const std::string& tag, const Message& content) {
  Message plugin = Message().text(1, "hparams").text(2, content.bytes());
  Message shape = Message().message(2, Message().varint(1, 1));
  Message tensor = Message().varint(1, 1).message(2, shape).text(5, std::string(4, '\0'));
  Message value = Message().text(1, "_hparams_/" + tag).message(9, Message().message(1, plugin)).message(8, tensor);
  return record(event(0).message(5, Message().message(1, value)));
}

std::string start_record(const Json& settings) {
  Message start;
  for (const auto& [key, value] : settings.items()) {
    start.message(1, Message().text(1, key).message(2, setting_value(value)));
  }
  start.real64(5, wall_time());
  return settings_record("session_start_info", Message().message(3, start));
}

void add_scalars(Message& summary, const std::string& tag, const Json& figures) {
  if (figures.is_object()) {
    for (const auto& [key, item] : figures.items()) add_scalars(summary, tag + "/" + key, item);
  } else if (figures.is_number()) {
    summary.message(1, Message().text(1, tag).real32(2, static_cast<float>(figures.get<double>())));
  }
}

/// Readers take the files of a folder in the order of their names, so a new one must come last.
fs::path next_name(const fs::path& folder) {
  auto seconds = static_cast<std::int64_t>(wall_time());
  std::error_code error;
  for (const fs::path& path : paths_in(folder, error)) {
    std::string name = path.filename().string();
    if (!name.starts_with(kName)) continue;
    seconds = std::max<std::int64_t>(seconds, std::strtoll(name.c_str() + std::strlen(kName), nullptr, 10) + 1);
  }
  return folder / (kName + std::to_string(seconds) + ".reprise");
}

}  // namespace

EventFile::EventFile(fs::path folder, std::int64_t step, Json settings)
    : folder_(std::move(folder)), step_(step), settings_(std::move(settings)) {}

EventFile::~EventFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void EventFile::open() {
  path_ = next_name(folder_);
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (descriptor_ < 0) fail_errno("tensorboard", "make", path_.native(), errno);
  append(record(Message().real64(1, wall_time()).text(3, "brain.Event:2")) + restart_record(step_ + 1) +
         start_record(settings_));
}

void EventFile::append(const std::string& records) {
  std::size_t done = 0;
  while (done < records.size()) {
    ssize_t written = ::write(descriptor_, records.data() + done, records.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_errno("tensorboard", "write", path_.native(), errno);
    done += static_cast<std::size_t>(written);
  }
}

void EventFile::scalars(std::int64_t step, const std::string& group, const Json& figures) {
  Message summary;
  add_scalars(summary, group, figures);
  if (summary.bytes().empty()) return;
  if (descriptor_ < 0) open();
  append(record(event(step).message(5, summary)));
}

void EventFile::finish() {
  if (descriptor_ < 0) return;
  constexpr std::uint64_t kSuccess = 1;
  Message end = Message().varint(1, kSuccess).real64(2, wall_time());
  append(settings_record("session_end_info", Message().message(4, end)));
}

}  // namespace reprise
