#include "tools/process/own_program.h"

#include <filesystem>

#include "core/error.h"

namespace reprise::process {
namespace {

/// The last lines without the empty ones at the end, of any length.
std::string end_of(const std::string& text, int lines) {
  std::size_t end = text.find_last_not_of(" \n");
  if (end == std::string::npos) return "";
  std::size_t begin = end + 1;
  for (int i = 0; i < lines && begin > 0; ++i) {
    std::size_t before = text.rfind('\n', begin >= 2 ? begin - 2 : 0);
    begin = before == std::string::npos || begin < 2 ? 0 : before + 1;
  }
  return text.substr(begin, end + 1 - begin);
}

}  // namespace

std::string own_program(const char* who) {
  std::error_code error;
  std::string path = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error) fail(ErrorKind::io, "[{}] cannot find this program's own file: {}", who, error.message());
  return path;
}

std::string last_line(const std::string& text) { return end_of(text, 1); }

std::string last_lines(const std::string& text, int lines) {
  constexpr std::size_t kMost = 1000;
  std::string all = end_of(text, lines);
  return all.size() > kMost ? all.substr(all.size() - kMost) : all;
}

Json last_json(const std::string& text) { return Json::parse(last_line(text), nullptr, false); }

}  // namespace reprise::process
