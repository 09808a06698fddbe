#include "tools/report/targets.h"

namespace reprise::report {

const std::vector<Target>& targets() {
  static const std::vector<Target> all = {
      {"row_memory", "both", "segment", "joint", "retain+whole", 0.80, "0.8184, interval [0.8172, 0.8195]"},
      {"row_memory", "tight", "segment", "joint", "region", 0.92, "4.98 % faster"},
  };
  return all;
}

}  // namespace reprise::report
