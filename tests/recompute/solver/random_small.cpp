#include "tests/recompute/solver/random_small.h"

#include <fmt/core.h>

#include "recompute/solver/random.h"

namespace reprise::solver {
namespace {

void add_random_objects(Instance& instance, Random& random, std::int64_t rows) {
  auto segments = static_cast<std::int64_t>(instance.segments.size());
  auto classes = static_cast<std::int64_t>(instance.classes.size());
  std::int64_t objects = random.between(1, 2 * segments + 2);
  for (std::int64_t j = 0; j < objects; ++j) {
    Object object{fmt::format("object {}", j),
                  random.between(0, 40),
                  random.chance(0.4) ? random.between(0, 9) : 0,
                  static_cast<std::int32_t>(random.below(rows)),
                  {}};
    std::int64_t uses = random.between(0, 4);
    for (std::int64_t u = 0; u < uses; ++u) {
      Use use;
      use.segment = static_cast<std::int32_t>(random.below(segments));
      auto options = static_cast<std::int64_t>(instance.segments[use.segment].options.size());
      use.options = static_cast<std::uint64_t>(random.below(std::int64_t{1} << options));
      use.row =
          static_cast<std::int32_t>(random.chance(0.9) ? random.between(object.birth, rows - 1) : random.below(rows));
      if (classes > 0 && random.chance(0.4)) use.read_class = static_cast<std::int32_t>(random.below(classes));
      use.state = random.chance(0.5) ? StateChoice::whole : StateChoice::region;
      object.uses.push_back(use);
    }
    instance.objects.push_back(std::move(object));
  }
}

}  // namespace

Instance random_small(std::uint64_t seed) {
  Random random(seed);
  Instance instance;
  instance.name = fmt::format("random {}", seed);
  std::int64_t rows = random.between(1, 14), segments = random.between(1, 9), classes = random.between(0, 3);
  for (std::int64_t t = 0; t < rows; ++t) instance.base.push_back(random.between(0, 20));
  instance.base_time_ns = random.between(0, 100);
  std::int64_t plans = std::int64_t{1} << classes;
  for (std::int64_t i = 0; i < segments; ++i) {
    std::int64_t options = random.chance(0.15) ? 1 : random.chance(0.7) ? 2 : random.between(3, 4);
    if (plans * options > (1 << 14)) break;
    plans *= options;
    Segment segment{fmt::format("segment {}", i), {}};
    for (std::int64_t o = 0; o < options; ++o) {
      bool retain = o == 0 ? random.chance(0.9) : random.chance(0.1);
      Option option{fmt::format("option {}", o), retain, retain ? random.between(0, 2) : random.between(0, 30), {}};
      std::int64_t own = random.between(0, 2);
      for (std::int64_t k = 0; k < own; ++k) {
        option.own.push_back({static_cast<std::int32_t>(random.below(rows)), random.between(0, 30)});
      }
      segment.options.push_back(std::move(option));
    }
    instance.segments.push_back(std::move(segment));
  }
  for (std::int64_t c = 0; c < classes; ++c) instance.classes.push_back({fmt::format("class {}", c)});
  add_random_objects(instance, random, rows);
  std::int64_t joints = classes > 0 ? random.between(0, 4) : 0;
  for (std::int64_t k = 0; k < joints; ++k) {
    auto segment = static_cast<std::int32_t>(random.below(static_cast<std::int64_t>(instance.segments.size())));
    auto options = static_cast<std::int64_t>(instance.segments[segment].options.size());
    instance.joint_times.push_back({segment, static_cast<std::uint64_t>(random.below(std::int64_t{1} << options)),
                                    static_cast<std::int32_t>(random.below(classes)),
                                    random.chance(0.5) ? StateChoice::whole : StateChoice::region,
                                    random.between(0, 9)});
  }
  return instance;
}

}  // namespace reprise::solver
