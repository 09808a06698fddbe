#include "tools/chart/heat_map.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "tools/chart/palette.h"
#include "tools/chart/plot.h"
#include "tools/chart/text.h"

namespace reprise::chart {
namespace {

constexpr double kBar = 14, kText = 11;

Ticks bar_ticks(const HeatMap& map, double height) {
  auto [low, high] = heat_range(map);
  return make_ticks(low, high, map.unit, ScaleKind::linear, std::max(2, static_cast<int>(height / 32)), false);
}

double label_width(const Ticks& ticks) { return widest_text(ticks.text, kText); }

}  // namespace

std::pair<double, double> heat_range(const HeatMap& map) {
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (double value : map.values) {
    if (!can_show(value, ScaleKind::linear)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  low = map.low.value_or(low);
  high = map.high.value_or(high);
  Ticks mended = make_ticks(low, high, map.unit, ScaleKind::linear, 2, false);
  return {mended.low, mended.high};
}

std::string cell_colour(const HeatMap& map, double low, double high, double value) {
  if (!map.centre) return heat_colour((value - low) / (high - low));
  // Equal distances to either side look equally strong.
  double reach = std::max(std::fabs(low - *map.centre), std::fabs(high - *map.centre));
  return diverging_colour((value - *map.centre) / reach);
}

double colour_bar_width(const HeatMap& map, double height) {
  double lines = static_cast<double>(wrap_text(map.label, kText, height).size());
  return kBar + 8 + label_width(bar_ticks(map, height)) + (lines > 0 ? 8 + 14 * lines : 0);
}

void draw_colour_bar(Svg& svg, const HeatMap& map, Place at, double height) {
  constexpr int kPieces = 64;
  auto [low, high] = heat_range(map);
  double piece = height / kPieces;
  for (int i = 0; i < kPieces; ++i) {
    double value = high - (high - low) * (i + 0.5) / kPieces;
    // Each piece reaches under the next, so that no seam shows.
    svg.rect({at.x, at.y + i * piece, kBar, i + 1 < kPieces ? piece + 1 : piece},
             fmt::format("fill=\"{}\"", cell_colour(map, low, high, value)));
  }
  Ticks ticks = bar_ticks(map, height);
  Scale scale{low, high, at.y + height, at.y};
  for (std::size_t i = 0; i < ticks.at.size(); ++i) {
    double y = scale(ticks.at[i]);
    svg.line({at.x + kBar, y}, {at.x + kBar + 4, y}, "stroke=\"#333333\"");
    svg.text({at.x + kBar + 7, y + 4}, ticks.text[i], {.size = kText});
  }
  double x = at.x + kBar + 8 + label_width(ticks) + 18;
  std::vector<std::string> lines = wrap_text(map.label, kText, height);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    svg.text({x + 14 * static_cast<double>(i), at.y + height / 2}, lines[i],
             {.size = kText, .anchor = Anchor::middle, .turn = -90});
  }
}

}  // namespace reprise::chart
