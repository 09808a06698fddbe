// Colours, dash patterns, shapes and hatching of a chart. Used by the parts of a chart that draw.
//
// The colours are those of Okabe and Ito, which colour-blind readers tell apart; each comes with its own dash pattern,
// shape or texture, so that a picture printed in grey reads too.
#pragma once

#include <string>

#include "tools/chart/svg.h"

namespace reprise::chart {

struct LineStyle {
  const char* colour;
  const char* dash;  // of stroke-dasharray; "" for solid
  double width;
  int shape;
};

/// Slots beyond the eight colours combine them with other patterns and shapes.
LineStyle line_style(int slot);
/// Lines over stacked areas: dark first, so that they stand out from the colours under them.
LineStyle line_over_areas_style(int slot);

/// The outline of a line's shape.
std::string shape_path(int shape, Place at, double radius);

/// fill="..." of an area: its colour, with a texture for every second slot.
std::string area_fill(int slot);

/// fill="..." of a hatched range, grey or in the colour of a slot.
std::string hatch_fill();
std::string hatch_fill(int slot);

/// The <defs> that the fills above refer to. The same in every chart, so that several in one page do not disturb one
/// another.
std::string pattern_definitions();

/// "#rrggbb" for 0 to 1: from dark blue to yellow, lighter all the way.
std::string heat_colour(double share);
/// "#rrggbb" for -1 to 1: blue, almost white in the middle, vermilion.
std::string diverging_colour(double share);
/// Black or white, whichever reads better on it.
const char* ink_on(const std::string& colour);

}  // namespace reprise::chart
