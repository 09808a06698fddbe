#include "tools/report/targets.h"

#include <algorithm>
#include <cstdlib>

namespace reprise::report {
namespace {

/// The value of a key below `targets:` in a file that the program wrote; "" where there is none.
std::string value_of(const std::string& settings, const std::string& key) {
  const std::string section = "\ntargets:\n", begin = "  " + key + ": ";
  std::size_t at = settings.find(section);
  if (at == std::string::npos) return "";
  for (at += section.size(); settings.compare(at, 2, "  ") == 0;) {
    std::size_t end = std::min(settings.find('\n', at), settings.size());
    std::string line = settings.substr(at, end - at);
    if (line.starts_with(begin)) return line.substr(begin.size()) == "\"\"" ? "" : line.substr(begin.size());
    at = std::min(end + 1, settings.size());
  }
  return "";
}

}  // namespace

std::vector<Target> targets_of(const std::string& settings) {
  std::string workload = "row_memory";
  double to_whole = 0.80, to_region = 0.92;
  if (!settings.empty()) {
    workload = value_of(settings, "workload");
    to_whole = std::strtod(value_of(settings, "joint_to_whole").c_str(), nullptr);
    to_region = std::strtod(value_of(settings, "joint_to_region").c_str(), nullptr);
  }
  if (workload.empty() || to_whole <= 0 || to_region <= 0) return {};
  return {{workload, "both", "segment", "joint", "retain+whole", to_whole, "0.8184, interval [0.8172, 0.8195]"},
          {workload, "tight", "segment", "joint", "region", to_region, "4.98 % faster"}};
}

}  // namespace reprise::report
