#include "tools/study/statistics_json.h"

#include <fmt/format.h>

#include <vector>

namespace reprise::study {

Json interval_json(const Interval& interval) { return {interval.low, interval.high}; }

Json ratio_json(const RatioSummary& ratio) {
  return {{"n", ratio.n},
          {"geometric_mean", ratio.geometric_mean},
          {"bootstrap", interval_json(ratio.bootstrap)},
          {"log_t", interval_json(ratio.log_t)},
          {"range", interval_json(ratio.range)}};
}

std::string bounds_text(const Interval& interval) {
  return interval.defined() ? fmt::format("[{:.4f}, {:.4f}]", interval.low, interval.high) : "-";
}

double number_or_0(const Json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

double median_of(const Json& list) { return median(list.get<std::vector<double>>()); }

}  // namespace reprise::study
