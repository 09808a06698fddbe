// SegmentMarks: which named parts of a model's forward are recorded as segments, as `recompute.segments` says.
//
// Models wrap each part in marks.run(tape, "layer2.0", body); a part that is not marked just runs. Marks of inference
// and of key encoders are empty.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "autograd/segment.h"
#include "models/config/config.h"

namespace reprise {

/// The parts of a model by name, in forward order: the finest cut, and the coarser one by stages.
struct SegmentNames {
  Words blocks;  // "stem", "layer1.0", ..., "head"
  Words stages;  // "stem", "layer1", ..., "head"
};

class SegmentMarks {
 public:
  SegmentMarks() = default;
  /// As the key `recompute.segments` says. Errors (config): a name that is neither a block nor a stage.
  SegmentMarks(const Config& config, const SegmentNames& names);

  bool marks(const std::string& name) const { return marked_.contains(name); }
  const std::set<std::string>& marked() const { return marked_; }

  template <class Body>
  auto run(Tape& tape, const std::string& name, Body&& body) const {
    return marks(name) ? segment(tape, name, std::forward<Body>(body)) : std::forward<Body>(body)();
  }

 private:
  std::set<std::string> marked_;
};

}  // namespace reprise
