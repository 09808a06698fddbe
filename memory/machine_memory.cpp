#include "memory/machine_memory.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace reprise {

namespace {

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

/// The number in a control group's limit file; unknown when there is no such file or it says "max".
std::int64_t read_limit(const std::string& path) {
  std::ifstream file(path);
  std::int64_t bytes = 0;
  return file >> bytes && bytes > 0 ? bytes : kUnknown;
}

/// The least limit along the path of this process's control group, from itself up to the root. A container often sees
/// its own group as the root.
std::int64_t group_limit() {
  std::int64_t least = read_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes");
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.rfind("0::", 0) != 0) continue;
    std::string path = line.substr(3);
    while (true) {
      least = std::min(least, read_limit("/sys/fs/cgroup" + path + "/memory.max"));
      if (path.empty()) break;
      path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
    }
  }
  return least;
}

}  // namespace

std::int64_t machine_memory_bytes() {
  struct sysinfo info {};
  std::int64_t machine = kUnknown;
  if (sysinfo(&info) == 0) {
    machine = static_cast<std::int64_t>(info.totalram + info.totalswap) * static_cast<std::int64_t>(info.mem_unit);
  }
  return std::min(machine, group_limit());
}

}  // namespace reprise
