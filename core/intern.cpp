#include "core/intern.h"

#include <mutex>
#include <set>
#include <string>

namespace reprise {

const char* intern(std::string_view text) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> names;
  std::lock_guard lock(mutex);
  auto at = names.find(text);
  if (at == names.end()) at = names.emplace(text).first;
  return at->c_str();
}

}  // namespace reprise
