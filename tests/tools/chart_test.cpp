// Charts as SVG: well-formed, the same bytes twice, nothing over anything else, and sane where the data are not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <regex>

#include "tests/support/errors.h"
#include "tests/support/program.h"
#include "tests/support/temp_folder.h"
#include "tools/chart/chart.h"
#include "tools/chart/palette.h"
#include "tools/chart/svg.h"
#include "tools/chart/text.h"

namespace reprise::chart {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinite = std::numeric_limits<double>::infinity();

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Chart chart_of(Panel panel) {
  Chart chart;
  chart.title = "title";
  chart.panels.push_back(std::move(panel));
  return chart;
}

Series line(std::string name, std::vector<double> x, std::vector<double> y) {
  Series series;
  series.name = std::move(name);
  series.x = std::move(x);
  series.y = std::move(y);
  return series;
}

/// Seven curves over bytes with bands, rules and lanes, as a frontier has them.
Panel frontier(std::mt19937& random) {
  auto uniform = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  Panel panel;
  panel.title = "step time against budget";
  panel.x = {.label = "memory budget", .unit = Unit::bytes};
  panel.y = {.label = "predicted step time", .unit = Unit::seconds};
  for (int method = 0; method < 7; ++method) {
    std::string name = "method" + std::string(static_cast<std::size_t>(3 * method), 'w') + std::to_string(method);
    double least = uniform(0.5e9, 2e9);
    Series series = line(name, {}, {});
    series.kind = SeriesKind::step;
    for (int i = 0; i < 30; ++i) {
      series.x.push_back(least + i * 1e8);
      series.y.push_back(1 + 1 / (1.0 + i));
    }
    panel.series.push_back(series);
    series.kind = SeriesKind::points;
    series.low = series.high = series.y;
    panel.series.push_back(series);
    panel.lanes.push_back({name, {{-kInfinite, least}}});
  }
  panel.lanes_label = "no plan fits";
  panel.bands.push_back({Along::x, -kInfinite, 0.5e9, "infeasible for every method"});
  for (int i = 0; i < 6; ++i)
    panel.rules.push_back({Along::x, uniform(1e9, 4.8e9), "a rule with a label " + std::to_string(i)});
  panel.note = "lines: predicted; points: measured";
  return panel;
}

Panel memory() {
  Panel panel;
  panel.x = {.label = "event", .unit = Unit::count};
  panel.y = {.label = "live bytes", .unit = Unit::bytes};
  for (int category = 0; category < 9; ++category) {
    Series series = line("category " + std::to_string(category), {}, {});
    series.kind = SeriesKind::step_area;
    for (int i = 0; i < 2000; ++i) {
      series.x.push_back(i);
      series.y.push_back(1e6 * (1 + (i * (category + 3)) % 17));
    }
    panel.series.push_back(series);
  }
  for (const char* name : {"predicted", "measured"}) {
    Series series = line(name, panel.series[0].x, std::vector<double>(2000, 5e7));
    series.kind = SeriesKind::step;
    panel.series.push_back(series);
  }
  panel.rules.push_back({Along::y, 6e7, "budget"});
  panel.crests = true;
  return panel;
}

Panel heat_map() {
  HeatMap map;
  for (int row = 0; row < 5; ++row) map.rows.push_back("row with a long name & number " + std::to_string(row * 1000));
  for (int column = 0; column < 12; ++column) map.columns.push_back("column " + std::to_string(column * 12345));
  for (int i = 0; i < 60; ++i) map.values.push_back(i == 17 ? kNan : 0.25 * i - 3);
  map.label = "time of whole over time of region";
  map.centre = 1;
  Panel panel;
  panel.x.label = "bytes of state";
  panel.y.label = "rows that are written";
  panel.heat_map = map;
  panel.series.push_back(line("break-even", {-0.5, 4, 11.5}, {-0.5, 3, 4.5}));
  Series points = line("measured", {1, 2.5}, {0, 3});
  points.kind = SeriesKind::points;
  panel.series.push_back(points);
  return panel;
}

/// Ratios with intervals along x, a row for each named thing.
Panel forest(int rows) {
  Panel panel;
  panel.title = "time over that of the whole method";
  panel.x = {.label = "ratio of step times", .scale = ScaleKind::log};
  for (const char* budget : {"both", "tight"}) {
    Series series = line(budget, {}, {});
    series.kind = SeriesKind::points;
    series.across = true;
    double shift = panel.series.empty() ? -0.15 : 0.15;
    for (int row = 0; row < rows; ++row) {
      double ratio = 0.8 + 0.05 * row + shift;
      series.x.push_back(ratio);
      series.y.push_back(row + shift);
      series.low.push_back(ratio * 0.95);
      series.high.push_back(ratio * 1.05);
    }
    panel.series.push_back(series);
  }
  for (int row = 0; row < rows; ++row)
    panel.y.names.push_back("method " + std::string(static_cast<std::size_t>(row), 'w'));
  panel.rules.push_back({Along::x, 1, "equal"});
  panel.rules.push_back({Along::x, 0.8, "target 0.80"});
  return panel;
}

/// Seven pictures of one kind in two columns.
Chart grid() {
  Chart chart;
  chart.title = "memory over a step";
  chart.columns = 2;
  chart.one_legend = true;
  for (int i = 0; i < 7; ++i) {
    chart.panels.push_back(memory());
    chart.panels.back().title = "method " + std::to_string(i);
    chart.panels.back().height = 110;
  }
  return chart;
}

std::vector<Chart> samples() {
  std::vector<Chart> charts;
  std::mt19937 random(7);
  for (int i = 0; i < 20; ++i) {
    Chart chart = chart_of(frontier(random));
    chart.subtitle = "a subtitle that is long enough to need more than one line where the picture is narrow, as it is";
    chart.footnote = "a footnote";
    chart.width = 560 + 40 * i;
    chart.legend = i % 3 == 0 ? LegendPlace::below : i % 3 == 1 ? LegendPlace::right : LegendPlace::automatic;
    charts.push_back(chart);
  }
  charts.push_back(chart_of(memory()));
  charts.push_back(chart_of(heat_map()));
  Chart stacked = chart_of(frontier(random));
  stacked.panels.push_back(memory());
  stacked.panels.push_back(heat_map());
  charts.push_back(stacked);
  charts.push_back(chart_of(forest(7)));
  charts.push_back(grid());
  return charts;
}

/// Where a text stands, by the estimate of its length.
struct TextBox {
  std::string text;
  double left, top, right, bottom;
};

std::vector<TextBox> text_boxes(const std::string& svg) {
  static const std::regex kText(
      "<text x=\"([-0-9.]+)\" y=\"([-0-9.]+)\" font-size=\"([0-9.]+)\"([^>]*)>([^<]*)</text>");
  std::vector<TextBox> boxes;
  for (std::sregex_iterator at(svg.begin(), svg.end(), kText), end; at != end; ++at) {
    double x = std::stod((*at)[1]), y = std::stod((*at)[2]), size = std::stod((*at)[3]);
    std::string attributes = (*at)[4], text = std::regex_replace((*at)[5].str(), std::regex("&[a-z0-9#]+;"), "&");
    double shift = attributes.find("middle") != std::string::npos    ? 0.5
                   : attributes.find("\"end\"") != std::string::npos ? 1
                                                                     : 0;
    double width = text_width(text, size), from = -shift * width;
    bool turned = attributes.find("rotate(-90") != std::string::npos;
    if (turned) {
      boxes.push_back({text, x - 0.75 * size, y - from - width, x + 0.2 * size, y - from});
    } else {
      boxes.push_back({text, x + from, y - 0.75 * size, x + from + width, y + 0.2 * size});
    }
  }
  return boxes;
}

std::pair<double, double> size_of(const std::string& svg) {
  std::smatch match;
  EXPECT_TRUE(std::regex_search(svg, match, std::regex("width=\"([0-9.]+)\" height=\"([0-9.]+)\" viewBox")));
  return {std::stod(match[1]), std::stod(match[2])};
}

TEST(Chart, NoTextLiesOverAnotherOrOutsideThePicture) {
  for (const Chart& chart : samples()) {
    std::string svg = to_svg(chart);
    auto [width, height] = size_of(svg);
    std::vector<TextBox> boxes = text_boxes(svg);
    ASSERT_GT(boxes.size(), 10U);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const TextBox& a = boxes[i];
      EXPECT_TRUE(a.left >= -1 && a.top >= -1 && a.right <= width + 1 && a.bottom <= height + 1)
          << a.text << " at width " << chart.width;
      for (std::size_t k = i + 1; k < boxes.size(); ++k) {
        const TextBox& b = boxes[k];
        bool apart = a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
        EXPECT_TRUE(apart) << a.text << " over " << b.text << " at width " << chart.width;
      }
    }
  }
}

TEST(Chart, IsWellFormedXml) {
  if (testing::run_shell("python3 -c 'import xml.etree.ElementTree'").code != 0) GTEST_SKIP() << "no python3";
  testing::TempFolder folder;
  std::vector<Chart> charts = samples();
  charts.push_back(chart_of({}));
  charts.back().title = "<&>\"'\x01\xff";
  charts.back().panels[0].series.push_back(line("]]>&amp;<b>", {1, 2}, {1, 2}));
  charts.back().panels[0].rules.push_back({Along::x, 1.5, "<rule> & \xc3"});
  std::string command = "python3 -c 'import sys, xml.etree.ElementTree as e; [e.parse(f) for f in sys.argv[1:]]'";
  for (std::size_t i = 0; i < charts.size(); ++i) {
    std::string file = (folder / ("chart" + std::to_string(i) + ".svg")).string();
    std::ofstream(file, std::ios::binary) << to_svg(charts[i]);
    command += " " + testing::shell_word(file);
  }
  testing::Outcome outcome = testing::run_shell(command + " 2>&1");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
}

TEST(Chart, SameDataSameBytes) {
  std::vector<Chart> first = samples(), second = samples();
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(to_svg(first[i]), to_svg(second[i]));
}

TEST(Chart, OddDataIsDrawnAsFarAsItGoes) {
  std::vector<std::pair<std::vector<double>, std::vector<double>>> data = {
      {{}, {}},
      {{3}, {5}},
      {{1, 2, 3}, {7, 7, 7}},
      {{2, 2, 2}, {1, 2, 3}},
      {{1, 2}, {kNan, kNan}},
      {{kNan}, {1}},
      {{1, 2, 3, 4, 5}, {1, kNan, 2, kInfinite, -kInfinite}},
      {{0, 1}, {0, -5}},
      {{1e308, -1e308}, {1e308, -1e308}},
      {{3, 1, 2}, {1, 2, 3}}};
  for (const auto& [x, y] : data) {
    for (SeriesKind kind :
         {SeriesKind::line, SeriesKind::step, SeriesKind::points, SeriesKind::area, SeriesKind::step_area}) {
      for (ScaleKind scale : {ScaleKind::linear, ScaleKind::log}) {
        Panel panel;
        panel.x.scale = panel.y.scale = scale;
        panel.series.push_back(line("odd", x, y));
        panel.series[0].kind = kind;
        panel.series[0].low = panel.series[0].high = y;
        panel.bands.push_back({Along::y, -kInfinite, kNan, "band"});
        std::string svg = to_svg(chart_of(panel));
        EXPECT_EQ(svg.find("nan"), std::string::npos);
        EXPECT_EQ(svg.find("inf"), std::string::npos);
      }
    }
  }
  EXPECT_NE(to_svg(chart_of({})).find("no data"), std::string::npos);
  Panel empty_map;
  empty_map.heat_map.emplace();
  EXPECT_NE(to_svg(chart_of(empty_map)).find("no data"), std::string::npos);
  EXPECT_NE(to_svg({}).find("</svg>"), std::string::npos);
}

TEST(Chart, ALoneValueHasAShape) {
  Panel panel;
  panel.series.push_back(line("loss", {1, 2, 3}, {1, kNan, 2}));
  std::string svg = to_svg(chart_of(panel));
  EXPECT_EQ(count(svg, " 0 1,0 "), 4);  // two circles of two arcs
}

TEST(Chart, LongSeriesStaySmallAndKeepTheirPeaks) {
  Panel panel;
  Series series = line("loss", {}, {});
  for (int i = 0; i < 200000; ++i) {
    series.x.push_back(i);
    series.y.push_back(i == 123456 ? 100 : std::sin(i));
  }
  panel.series.push_back(series);
  panel.y.high = 100;
  Chart chart = chart_of(panel);
  std::string svg = to_svg(chart);
  EXPECT_LT(svg.size(), 120000U);
  std::vector<TextBox> boxes = text_boxes(svg);
  auto top = std::find_if(boxes.begin(), boxes.end(), [](const TextBox& box) { return box.text == "100"; });
  ASSERT_NE(top, boxes.end());
  double y = top->bottom - 0.2 * 11 - 4;  // the text's baseline is 4 below its tick
  EXPECT_NE(svg.find("," + number(y)), std::string::npos) << "the one high value is not drawn at " << y;
}

TEST(Chart, CrestsKeepTheHighestMoment) {
  Panel panel = memory();
  panel.series[0].y[777] = 1e9;
  std::string all = to_svg(chart_of(panel));
  panel.series[0].y[777] = 1e6;
  EXPECT_NE(all, to_svg(chart_of(panel)));
  EXPECT_LT(all.size(), 100000U);
}

TEST(Chart, SeriesOfOneNameShareColourAndLegendEntry) {
  Panel panel;
  for (const char* name : {"a", "b", "a"}) panel.series.push_back(line(name, {1, 2, 3}, {1, 2, 3}));
  panel.series[2].kind = SeriesKind::points;
  std::string svg = to_svg(chart_of(panel));
  EXPECT_EQ(count(svg, ">a</text>"), 1);
  EXPECT_EQ(count(svg, line_style(2).colour), 1);  // its hatching alone
}

TEST(Chart, RowsOfANamedAxisGoDownAndCarryTheirIntervalsAcross) {
  std::string svg = to_svg(chart_of(forest(2)));
  std::vector<TextBox> boxes = text_boxes(svg);
  auto box = [&](const std::string& text) {
    auto found = std::find_if(boxes.begin(), boxes.end(), [&](const TextBox& b) { return b.text == text; });
    EXPECT_NE(found, boxes.end()) << text;
    return found == boxes.end() ? TextBox{} : *found;
  };
  EXPECT_LT(box("method ").top, box("method w").top);
  EXPECT_LT(box("target 0.80").left, box("equal").left);
  // Each interval is one line along a row with an upright end at both sides.
  std::regex bar(
      "<line x1=\"([0-9.]+)\" y1=\"([0-9.]+)\" x2=\"([0-9.]+)\" y2=\"([0-9.]+)\" stroke=\"#(0072b2|d55e00)\" "
      "stroke-width=\"1.4\"/>");
  int along = 0, upright = 0;
  for (std::sregex_iterator at(svg.begin(), svg.end(), bar), end; at != end; ++at) {
    ((*at)[2] == (*at)[4] ? along : upright) += 1;
  }
  EXPECT_EQ(along, 4);
  EXPECT_EQ(upright, 8);
}

TEST(Chart, PanelsInColumnsShareOneLegend) {
  Chart chart = grid();
  std::string svg = to_svg(chart);
  EXPECT_EQ(count(svg, ">category 3</text>"), 1);
  std::vector<TextBox> boxes = text_boxes(svg);
  std::vector<double> left, top;
  for (const TextBox& box : boxes) {
    if (box.text.starts_with("method ")) {
      left.push_back(box.left);
      top.push_back(box.top);
    }
  }
  ASSERT_EQ(left.size(), 7U);
  EXPECT_EQ(left[0], left[2]);
  EXPECT_EQ(top[0], top[1]);
  EXPECT_NEAR(left[1] - left[0], chart.width / 2, 1e-6);
  EXPECT_LT(top[1], top[2]);
}

TEST(Chart, TextsStandAtTheRightOfTheirPoints) {
  Panel panel = heat_map();
  panel.series[1].texts = {"0.79", "1.02"};
  std::string svg = to_svg(chart_of(panel));
  EXPECT_EQ(count(svg, ">0.79</text>") + count(svg, ">1.02</text>"), 2);
  panel.series[1].texts.pop_back();
  testing::expect_error(ErrorKind::internal, {"expected lists of one length"}, [&] { to_svg(chart_of(panel)); });
}

TEST(Chart, ListsOfOneLengthAreAskedFor) {
  Panel panel;
  panel.series.push_back(line("a", {1, 2}, {1}));
  testing::expect_error(ErrorKind::internal, {"expected lists of one length"}, [&] { to_svg(chart_of(panel)); });
  panel.series[0] = line("a", {1, 2}, {1, 2});
  panel.series[0].low = {1};
  testing::expect_error(ErrorKind::internal, {"expected lists of one length"}, [&] { to_svg(chart_of(panel)); });
  panel.series = {line("a", {1, 2}, {1, 2}), line("b", {1}, {1})};
  panel.series[0].kind = panel.series[1].kind = SeriesKind::area;
  testing::expect_error(ErrorKind::internal, {"expected lists of one length"}, [&] { to_svg(chart_of(panel)); });
  panel.series.clear();
  panel.heat_map = HeatMap{{"r"}, {"c"}, {1, 2}};
  testing::expect_error(ErrorKind::internal, {"expected 1 x 1 values, got 2"}, [&] { to_svg(chart_of(panel)); });
}

}  // namespace
}  // namespace reprise::chart
