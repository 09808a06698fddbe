// The median of measured times, in one place for all that profiles measure. Of an even number the upper of the two in
// the middle, so that it is a time that was measured.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace reprise {

/// `values` must not be empty.
template <class T>
T median_time(std::vector<T> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace reprise
