#include "tools/chart/palette.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace reprise::chart {
namespace {

constexpr int kLines = 8;
constexpr const char* kLineColours[kLines] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                              "#e69f00", "#56b4e9", "#000000", "#7f7f7f"};
constexpr const char* kDashes[kLines] = {"", "9 4", "2.5 3", "9 3 2.5 3", "16 4", "5 3", "14 3 2 3 2 3", "1.5 5"};

constexpr int kAreas = 9;
constexpr const char* kAreaColours[kAreas] = {"#0072b2", "#56b4e9", "#009e73", "#f0e442", "#e69f00",
                                              "#d55e00", "#cc79a7", "#bdbdbd", "#6b6b6b"};

struct Rgb {
  double red, green, blue;
};

/// The colour map "cividis": equal steps look equal, with and without red and green.
constexpr Rgb kHeat[] = {{0, 32, 77},     {0, 51, 111},    {57, 72, 107},   {87, 92, 109},  {112, 113, 115},
                         {138, 135, 121}, {166, 157, 117}, {196, 181, 108}, {228, 207, 91}, {255, 234, 70}};

std::string hex(const Rgb& from, const Rgb& to, double share) {
  auto mix = [share](double a, double b) { return static_cast<int>(std::lround(a + (b - a) * share)); };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(from.red, to.red), mix(from.green, to.green), mix(from.blue, to.blue));
}

std::string pattern(const std::string& name, int size, const std::string& inside, int turn = 0) {
  return fmt::format(
      "<pattern id=\"reprise-{0}\" width=\"{1}\" height=\"{1}\" patternUnits=\"userSpaceOnUse\"{2}>{3}</pattern>\n",
      name, size, turn == 0 ? "" : fmt::format(" patternTransform=\"rotate({})\"", turn), inside);
}

std::string stripe(const char* colour, double width, double opacity) {
  return fmt::format("<path d=\"M0,0L0,20\" stroke=\"{}\" stroke-width=\"{}\" stroke-opacity=\"{}\"/>", colour,
                     number(width), number(opacity));
}

std::string ground(int slot) {
  return fmt::format("<rect width=\"20\" height=\"20\" fill=\"{}\"/>", kAreaColours[slot]);
}

/// Corners for a radius of 1. The circle is drawn as one.
std::vector<Place> corners(int shape) {
  switch (shape) {
    case 1: return {{-.86, -.86}, {.86, -.86}, {.86, .86}, {-.86, .86}};
    case 2: return {{0, -1.15}, {1.1, .8}, {-1.1, .8}};
    case 3: return {{0, -1.25}, {1.05, 0}, {0, 1.25}, {-1.05, 0}};
    case 4: return {{0, 1.15}, {1.1, -.8}, {-1.1, -.8}};
    case 5:  // plus
      return {{-.35, -1.15}, {.35, -1.15}, {.35, -.35}, {1.15, -.35}, {1.15, .35},   {.35, .35},
              {.35, 1.15},   {-.35, 1.15}, {-.35, .35}, {-1.15, .35}, {-1.15, -.35}, {-.35, -.35}};
    case 6:  // cross
      return {{-1, -.55}, {-.55, -1}, {0, -.45}, {.55, -1}, {1, -.55}, {.45, 0},
              {1, .55},   {.55, 1},   {0, .45},  {-.55, 1}, {-1, .55}, {-.45, 0}};
    default:  // star
      return {{0, -1.3}, {.35, -.45},  {1.24, -.4}, {.55, .18},   {.76, 1.05},
              {0, .56},  {-.76, 1.05}, {-.55, .18}, {-1.24, -.4}, {-.35, -.45}};
  }
}

}  // namespace

LineStyle line_style(int slot) {
  int lap = slot / kLines, at = slot % kLines;
  int pattern = (at + 3 * lap) % kLines;
  // The solid one lies under the others and is wider, so that it shows where they run together.
  return {kLineColours[at], kDashes[pattern], pattern == 0 ? 3.2 : 2.2, pattern};
}

LineStyle line_over_areas_style(int slot) {
  if (slot == 0) return {"#000000", "", 3.2, 0};
  if (slot == 1) return {"#ffffff", "", 1.1, 1};  // a bright core where it runs on the first
  return line_style(slot);
}

std::string shape_path(int shape, Place at, double radius) {
  if (shape == 0) {
    return fmt::format("M{0},{1}a{2},{2} 0 1,0 {3},0a{2},{2} 0 1,0 -{3},0Z", number(at.x - radius), number(at.y),
                       number(radius), number(2 * radius));
  }
  std::vector<Place> places = corners(shape);
  for (Place& place : places) place = {at.x + place.x * radius, at.y + place.y * radius};
  return path_through(places) + "Z";
}

std::string area_fill(int slot) {
  // Plain ones lie between the textured, so that no two neighbours look alike in grey.
  if (slot % kAreas % 2 == 0) return fmt::format("fill=\"{}\"", kAreaColours[slot % kAreas]);
  return fmt::format("fill=\"url(#reprise-area-{})\"", slot % kAreas);
}

std::string hatch_fill() { return "fill=\"url(#reprise-hatch)\""; }

std::string hatch_fill(int slot) { return fmt::format("fill=\"url(#reprise-hatch-{})\"", slot % kLines); }

std::string pattern_definitions() {
  std::string out = "<defs>\n";
  out += pattern("area-1", 6, ground(1) + stripe("#000000", 1.6, 0.45), 45);
  out += pattern("area-3", 7, ground(3) + stripe("#000000", 1.4, 0.5), -45);
  out += pattern("area-5", 6, ground(5) + "<circle cx=\"3\" cy=\"3\" r=\"1.1\" fill=\"#000000\"/>");
  out += pattern("area-7", 5, ground(7) + stripe("#ffffff", 2.4, 0.8), 90);
  out += pattern("hatch", 8, stripe("#808080", 1.6, 0.6), 45);
  for (int slot = 0; slot < kLines; ++slot) {
    out += pattern(fmt::format("hatch-{}", slot), 5, stripe(kLineColours[slot], 3.2, 1), 45);
  }
  return out + "</defs>\n";
}

std::string heat_colour(double share) {
  constexpr int kLast = static_cast<int>(std::size(kHeat)) - 1;
  double at = std::clamp(share, 0.0, 1.0) * kLast;
  int from = std::min(static_cast<int>(at), kLast - 1);
  return hex(kHeat[from], kHeat[from + 1], at - from);
}

std::string diverging_colour(double share) {
  constexpr Rgb kMiddle = {247, 247, 247}, kBelow = {0, 114, 178}, kAbove = {213, 94, 0};
  return hex(kMiddle, share < 0 ? kBelow : kAbove, std::min(std::fabs(share), 1.0));
}

const char* ink_on(const std::string& colour) {
  auto part = [&](int at) { return std::stoi(colour.substr(static_cast<std::size_t>(at), 2), nullptr, 16); };
  double light = 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
  return light > 120 ? "#000000" : "#ffffff";
}

}  // namespace reprise::chart
