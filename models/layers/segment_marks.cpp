#include "models/layers/segment_marks.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace reprise {

SegmentMarks::SegmentMarks(const Config& config, const SegmentNames& names) {
  const Words& wanted = config.get_list("recompute.segments");
  if (wanted == Words{"none"} || wanted.empty()) return;
  if (wanted == Words{"blocks"}) {
    marked_.insert(names.blocks.begin(), names.blocks.end());
  } else if (wanted == Words{"stages"}) {
    marked_.insert(names.stages.begin(), names.stages.end());
  } else {
    for (const std::string& name : wanted) {
      bool known = std::find(names.blocks.begin(), names.blocks.end(), name) != names.blocks.end() ||
                   std::find(names.stages.begin(), names.stages.end(), name) != names.stages.end();
      if (!known) {
        throw config.error_at("recompute.segments", "expected blocks, stages, none or names among {}; got {}",
                              fmt::join(names.blocks, ", "), quoted_for_message(name));
      }
      marked_.insert(name);
    }
  }
}

}  // namespace reprise
