// Round numbers along an axis, and how they read. Used by the layout of charts.
//
// Ticks rise, lie within [low, high], and are multiples of 1, 2 or 5 times a power of ten; of a power of two for bytes.
#pragma once

#include <string>
#include <vector>

#include "tools/chart/chart.h"

namespace reprise::chart {

struct Ticks {
  double low = 0, high = 1;  // the ends of the axis
  std::vector<double> at;
  std::vector<std::string> text;
};

/// At most `most` (2 or more, 3 or more when covering) ticks for values from low to high. `covering`: the ends move out
/// to round numbers. Ends that are equal, in the wrong order or not finite, or not positive on a logarithmic axis, are
/// mended.
Ticks make_ticks(double low, double high, Unit unit, ScaleKind scale, int most, bool covering);

/// −1,234.50 for two decimals.
std::string decimal_text(double value, int decimals);

/// False for what an axis cannot show.
bool can_show(double value, ScaleKind scale);

}  // namespace reprise::chart
