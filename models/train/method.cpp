#include "models/train/method.h"

#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>

#include "recompute/methods.h"
#include "recompute/planning/planner.h"

namespace reprise {
namespace {

/// The first pattern that fits a segment's name decides; without one, the method.
class PatternPolicy final : public SegmentPolicy {
 public:
  PatternPolicy(const std::string& method, const WordMap& patterns) : fallback_(segment_option(parse_method(method))) {
    for (const auto& [pattern, option] : patterns)
      patterns_.emplace_back(pattern, segment_option(parse_method(option)));
  }
  SegmentOption choose(const char* name, std::uint32_t) override {
    for (const auto& [pattern, option] : patterns_) {
      if (::fnmatch(pattern.c_str(), name, 0) == 0) return option;
    }
    return fallback_;
  }

 private:
  SegmentOption fallback_;
  std::vector<std::pair<std::string, SegmentOption>> patterns_;
};

void check_patterns(const Config& config, const SegmentMarks& marks) {
  for (const auto& [pattern, option] : config.get_map("recompute.options")) {
    bool fits = std::any_of(marks.marked().begin(), marks.marked().end(), [&p = pattern](const std::string& name) {
      return ::fnmatch(p.c_str(), name.c_str(), 0) == 0;
    });
    if (fits) continue;
    throw config.error_at_entry("recompute.options", pattern, "expected a pattern that fits a segment; {}",
                                marks.marked().empty()
                                    ? std::string("recompute.segments marks none")
                                    : fmt::format("the segments are {}", fmt::join(marks.marked(), ", ")));
  }
}

}  // namespace

bool needs_plan(const Config& config) {
  if (!config.get_string("recompute.plan").empty()) return true;
  return is_planned(config.get_string("recompute.method"));
}

RecomputeSetup::RecomputeSetup(const Config& config, const SegmentMarks& marks, std::shared_ptr<const Plan> plan)
    : method_(plan ? plan->method : config.get_string("recompute.method")) {
  check_patterns(config, marks);
  if (plan || needs_plan(config)) {
    if (plan) assignment_ = plan->assignment();
    auto policy = std::make_unique<AssignmentPolicy>();
    policy->assign(&assignment_);
    policy_ = std::move(policy);
  } else {
    policy_ = std::make_unique<PatternPolicy>(method_, config.get_map("recompute.options"));
  }
}

void RecomputeSetup::install(Tape& tape, Memory& memory) {
  tape.set_policy(policy_.get());
  tape.set_replayer(&replayer_);
  memory.preserver().set_unchecked(unchecked());
}

}  // namespace reprise
