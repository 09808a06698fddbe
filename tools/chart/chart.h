// Pictures as SVG text: what a chart shows, as plain data, and to_svg(). Called by the verbs that draw and by study
// reports.
//
// The text depends on the data alone: the same chart gives the same bytes. It needs no font, script or file beside it.
// Values that are not finite, or not positive on a logarithmic axis, are missing: a line has a gap there.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace reprise::chart {

/// How numbers of an axis read: 0.25; 20,000 (count: whole numbers only); 1.5 GiB (values in bytes); 20 ms (values in
/// seconds); 45 % (values 0 to 100).
enum class Unit { number, count, bytes, seconds, percent };
enum class ScaleKind { linear, log };

struct Axis {
  std::string label;
  Unit unit = Unit::number;
  ScaleKind scale = ScaleKind::linear;
  std::optional<double> low, high;  // ends; where absent they follow the data
  bool zero = false;                // 0 is on the axis (linear only; stacked areas always have it)
  std::vector<std::string> names;   // of a y axis: what 0, 1, 2, ... stand for, from the top down; no numbers then
};

/// A step holds its value until the next x. Areas of one panel are stacked in their order and share their x.
enum class SeriesKind { line, step, points, area, step_area };
enum class Stroke { automatic, solid, dashed };

struct Series {
  SeriesKind kind = SeriesKind::line;
  std::string name;  // for the legend; series of one name share colour, shape and legend entry. empty: not listed
  std::vector<double> x, y;
  std::vector<double> low, high;  // ends of error bars (points) or of a shaded interval (lines); absent or as long as y
  bool across = false;            // low and high are ends along x (points)
  std::vector<std::string> texts;  // at the right of each point; absent or as long as y
  std::vector<double> marks;       // along y: a short bar across each point's place, such as what was foretold for it
  std::optional<int> slot;         // which colour and shape; else the next that is free
  Stroke stroke = Stroke::automatic;  // automatic: a pattern of its own for each slot
  bool marked = false;                // a line shows its shape now and then
};

enum class Along { x, y };

/// A hatched range of an axis; from and to may be infinite. One along x is labelled above the plot, one along y in the
/// legend.
struct Band {
  Along along = Along::x;
  double from = 0, to = 0;
  std::string label;
};

/// A thin line at one value of an axis, labelled as a band is.
struct Rule {
  Along along = Along::x;
  double at = 0;
  std::string label;
};

/// A thin bar below the plot, hatched over ranges of x: for instance where one method has no plan. It takes the colour
/// of the series of its name.
struct Lane {
  std::string name;
  std::vector<std::pair<double, double>> ranges;
};

/// Cells in colour. Row 0 is at the top. Series of the panel are drawn over it with x in columns and y in rows, 0 being
/// the middle of the first. A value that is not finite leaves its cell hatched.
struct HeatMap {
  std::vector<std::string> rows, columns;
  std::vector<double> values;  // rows x columns
  std::string label;           // of the colour bar
  Unit unit = Unit::number;
  std::optional<double> low, high;  // ends of the colours; where absent they follow the values
  std::optional<double> centre;     // set: two colours that meet here, else one colour scale
  bool show_values = true;          // as text in each cell, where there is room
};

struct Panel {
  std::string title;
  Axis x, y;
  std::vector<Series> series;
  std::vector<Band> bands;
  std::vector<Rule> rules;
  std::vector<Lane> lanes;
  std::string lanes_label;  // what being hatched means, for the legend
  std::optional<HeatMap> heat_map;
  std::string note;  // below the legend entries
  /// Where many values fall on a few pixels only the highest of each three pixels is drawn, by the sum for stacked
  /// areas. For memory over a step, where it is the peaks that matter and what lies between would be a blur.
  bool crests = false;
  /// Points of several series at about one x stand side by side, a few pixels from where they belong, instead of one
  /// over another.
  bool beside = false;
  double height = 260;  // of the plot itself, in pixels
};

enum class LegendPlace { automatic, right, below };

struct Chart {
  std::string title, subtitle, footnote;
  std::vector<Panel> panels;  // one above the other, left and right edges in line
  double width = 920;         // in pixels
  LegendPlace legend = LegendPlace::automatic;
  int columns = 1;          // panels side by side, row by row
  bool one_legend = false;  // one for all panels, below them: their series of one name look alike
};

/// The chart as a whole SVG document in UTF-8. Errors (internal) when lists that belong together differ in length.
std::string to_svg(const Chart& chart);

/// Errors (user): `path` ends as a picture of another kind does, which no viewer would then show. `who` heads the
/// error.
void check_picture_name(const std::string& path, const char* who);

/// One value as a reader wants it, about three digits: 1.53 GiB, 12.3 ms, 45.2 %, 0.124.
std::string value_text(double value, Unit unit);

}  // namespace reprise::chart
