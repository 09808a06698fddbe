#include "recompute/methods.h"

#include "core/error.h"
#include "core/philox.h"

namespace reprise {

namespace {

class FixedPolicy final : public SegmentPolicy {
 public:
  explicit FixedPolicy(SegmentOption option) : option_(option) {}
  SegmentOption choose(const char*, std::uint32_t) override { return option_; }

 private:
  SegmentOption option_;
};

/// Option of instance i = two bits of the Philox word at position i of stream (seed, 0). Every fourth group of three
/// instances, by stream (seed, 1), is a two-level run.
class MixedPolicy final : public SegmentPolicy {
 public:
  explicit MixedPolicy(std::uint64_t seed) : seed_(seed) {}
  SegmentOption choose(const char*, std::uint32_t instance) override {
    std::uint32_t word = philox_word(seed_, 0, instance), group = instance / 3;
    if (philox_word(seed_, 1, group) % 4 == 0) {
      return {ValueOption::replay, word & 2 ? StateOption::region : StateOption::whole, group + 1, instance % 3 == 2};
    }
    return {word & 1 ? ValueOption::replay : ValueOption::retain, word & 2 ? StateOption::region : StateOption::whole};
  }

 private:
  std::uint64_t seed_;
};

constexpr Method kMethods[] = {Method::retain, Method::whole, Method::region, Method::mixed, Method::unchecked};

}  // namespace

const char* to_string(Method method) {
  switch (method) {
    case Method::retain: return "retain";
    case Method::whole: return "whole";
    case Method::region: return "region";
    case Method::mixed: return "mixed";
    case Method::unchecked: return "unchecked";
  }
  return "unknown";
}

Method parse_method(const std::string& text) {
  std::string known;
  for (Method method : kMethods) {
    if (text == to_string(method)) return method;
    known += (known.empty() ? "" : ", ") + std::string(to_string(method));
  }
  fail(ErrorKind::user, "[method] expected one of {}, got '{}'", known, text);
}

SegmentOption segment_option(Method method) {
  REPRISE_INVARIANT(method != Method::mixed);
  SegmentOption option;
  if (method != Method::retain) option.values = ValueOption::replay;
  if (method == Method::region) option.state = StateOption::region;
  return option;
}

std::unique_ptr<SegmentPolicy> make_policy(Method method, std::uint64_t seed) {
  if (method == Method::mixed) return std::make_unique<MixedPolicy>(seed);
  return std::make_unique<FixedPolicy>(segment_option(method));
}

}  // namespace reprise
