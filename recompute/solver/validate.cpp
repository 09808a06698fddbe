// The checks of an instance before it is solved: every index in range, no negative byte or time.
#include "core/error.h"
#include "recompute/solver/evaluate.h"

namespace reprise::solver {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 56;  // sums of many such numbers must stay in 64 bits

void check_amount(std::int64_t value, const std::string& what, const std::string& name) {
  if (value < 0 || value > kMost) {
    fail(ErrorKind::user, "[planner] expected {} of {} from 0 to {}, got {}.", what, name, kMost, value);
  }
}

void check_index(std::int64_t value, std::int64_t count, const std::string& what, const std::string& name) {
  if (value < 0 || value >= count) {
    fail(ErrorKind::user, "[planner] expected the {} of {} from 0 to {}, got {}.", what, name, count - 1, value);
  }
}

void check_segments(const Instance& instance) {
  auto rows = static_cast<std::int64_t>(instance.base.size());
  for (const Segment& segment : instance.segments) {
    std::string name = "segment " + segment.name;
    if (segment.options.empty() || segment.options.size() > 64) {
      fail(ErrorKind::user, "[planner] expected 1 to 64 options of {}, got {}.", name, segment.options.size());
    }
    for (const Option& option : segment.options) {
      check_amount(option.time_ns, "the time", name + ", option " + option.name);
      for (const RowBytes& own : option.own) {
        check_index(own.row, rows, "row", name + ", option " + option.name);
        check_amount(own.bytes, "the bytes", name + ", option " + option.name);
      }
    }
  }
}

void check_mask(const Instance& instance, std::int32_t segment, std::uint64_t mask, const std::string& name) {
  check_index(segment, static_cast<std::int64_t>(instance.segments.size()), "segment", name);
  std::size_t count = instance.segments[segment].options.size();
  if (count < 64 && (mask >> count) != 0) {
    fail(ErrorKind::user, "[planner] expected options of {} among the {} of segment {}, got the mask {:#x}.", name,
         count, instance.segments[segment].name, mask);
  }
}

void check_object(const Instance& instance, const Object& object) {
  std::string name = "object " + object.name;
  check_amount(object.bytes, "the bytes", name);
  check_amount(object.time_ns, "the time", name);
  auto rows = static_cast<std::int64_t>(instance.base.size());
  check_index(object.birth, rows, "birth", name);
  for (const Use& use : object.uses) {
    check_mask(instance, use.segment, use.options, name);
    check_index(use.row, rows, "last row", name);
    if (use.read_class >= 0) {
      check_index(use.read_class, static_cast<std::int64_t>(instance.classes.size()), "class of reads", name);
    }
  }
}

}  // namespace

void validate(const Instance& instance) {
  if (instance.base.empty()) fail(ErrorKind::user, "[planner] expected at least one row, got none.");
  if (!instance.row_names.empty() && instance.row_names.size() != instance.base.size()) {
    fail(ErrorKind::user, "[planner] expected {} row names or none, got {}.", instance.base.size(),
         instance.row_names.size());
  }
  for (std::size_t t = 0; t < instance.base.size(); ++t) {
    check_amount(instance.base[t], "the bytes", fmt::format("row {}", t));
  }
  check_amount(instance.base_time_ns, "the base time", "the step");
  check_segments(instance);
  for (const Object& object : instance.objects) check_object(instance, object);
  for (const JointTime& joint : instance.joint_times) {
    check_mask(instance, joint.segment, joint.options, "a joint time");
    check_index(joint.read_class, static_cast<std::int64_t>(instance.classes.size()), "class of reads", "a joint time");
    check_amount(joint.time_ns, "the time", "a joint time");
  }
}

}  // namespace reprise::solver
