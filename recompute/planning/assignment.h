// Assignment: what is decided for every segment and node of one recorded step, whoever decided it: a plan, a fixed
// method, or a probe. Turned into a tape's policy and a schedule's choices.
#pragma once

#include <cstdint>
#include <vector>

#include "autograd/schedule.h"
#include "autograd/tape.h"

namespace reprise {

struct Assignment {
  std::vector<SegmentOption> segments;  // per explicit segment instance, in forward order
  std::vector<NodeChoice> choices;      // per node; empty: nothing is said of any
  SegmentOption fallback;               // of instances beyond `segments`
};

/// Gives each instance the option that an assignment names. The assignment may be exchanged between steps.
class AssignmentPolicy final : public SegmentPolicy {
 public:
  void assign(const Assignment* assignment) { assignment_ = assignment; }
  SegmentOption choose(const char*, std::uint32_t instance) override {
    if (!assignment_) return {};
    return instance < assignment_->segments.size() ? assignment_->segments[instance] : assignment_->fallback;
  }

 private:
  const Assignment* assignment_ = nullptr;
};

}  // namespace reprise
