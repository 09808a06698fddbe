#include "core/error.h"

#include <cstring>

namespace reprise {

const char* to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::user: return "user";
    case ErrorKind::config: return "config";
    case ErrorKind::io: return "io";
    case ErrorKind::device: return "device";
    case ErrorKind::memory: return "memory";
    case ErrorKind::replay: return "replay";
    case ErrorKind::internal: return "internal";
  }
  return "unknown";
}

int exit_code(ErrorKind kind) { return kind == ErrorKind::user || kind == ErrorKind::config ? 2 : 1; }

Error::Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)), full_(message_) {}

void Error::add_context(std::string line) {
  full_ += "\n  " + line;
  context_.push_back(std::move(line));
}

void fail_errno(const char* stage, const char* what, const std::string& path, int error) {
  fail(ErrorKind::io, "[{}] cannot {} {}: {}", stage, what, path, std::strerror(error));
}

}  // namespace reprise
