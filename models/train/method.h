// What the keys recompute.* mean for a run: a policy for the tape's segments, and the replayer behind it.
// Made by whoever runs a model under a configuration; it must outlive the tape it is installed in.
#pragma once

#include <memory>
#include <string>

#include "autograd/tape.h"
#include "models/config/config.h"
#include "models/layers/segment_marks.h"
#include "recompute/planning/plan.h"
#include "recompute/replay.h"

namespace reprise {

/// Whether the method chooses per segment, or a stored plan is named: then a plan is made or read before the run.
bool needs_plan(const Config& config);

class RecomputeSetup {
 public:
  /// `plan` is what a planned method has chosen (models/train/make_plan.h); without one its segments are retained.
  /// Errors (config): a pattern that fits no segment.
  RecomputeSetup(const Config& config, const SegmentMarks& marks, std::shared_ptr<const Plan> plan = nullptr);

  /// Gives the tape its policy and replayer, and the memory its mode of preservation. Both must not outlive this.
  void install(Tape& tape, Memory& memory);
  const std::string& method() const { return method_; }
  /// Whether the gradients are not to be trusted (method unchecked).
  bool unchecked() const { return method_ == "unchecked"; }

 private:
  std::string method_;
  Assignment assignment_;
  std::unique_ptr<SegmentPolicy> policy_;
  TraceReplayer replayer_;
};

}  // namespace reprise
