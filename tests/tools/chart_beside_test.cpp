// Charts: points of several series at one place stand side by side, and marks are bars across their places.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>

#include "tests/support/errors.h"
#include "tests/support/text.h"
#include "tools/chart/chart.h"
#include "tools/chart/palette.h"

namespace reprise::chart {
namespace {

using reprise::testing::contains;

/// Three series with a value at one x, and one with a value of its own further right.
Chart crowded() {
  Panel panel;
  panel.beside = true;
  for (int i = 0; i < 4; ++i) {
    Series& series = panel.series.emplace_back();
    series.name = "series " + std::to_string(i);
    series.kind = SeriesKind::points;
    series.x = {i < 3 ? 1.0 : 5.0, 9.0};
    series.y = series.low = {2.0 + i, std::numeric_limits<double>::quiet_NaN()};
    series.high = {8, 8};
  }
  Chart chart;
  chart.panels.push_back(std::move(panel));
  return chart;
}

/// Where the upright part of each series' error bar stands.
std::vector<double> uprights(const Chart& chart) {
  std::string svg = to_svg(chart);
  std::vector<double> all;
  for (int slot = 0; slot < 4; ++slot) {
    std::smatch match;
    std::string bar = std::string(R"bar(<line x1="([0-9.]+)" y1="[0-9.]+" x2="\1" y2="[0-9.]+" stroke=")bar") +
                      line_style(slot).colour + "\" stroke-width=\"1.4\"/>";
    if (std::regex_search(svg, match, std::regex(bar))) all.push_back(std::stod(match[1]));
  }
  EXPECT_EQ(all.size(), 4U);
  all.resize(4);
  return all;
}

TEST(ChartBeside, PointsOfOnePlaceStandInTheOrderOfTheirSeries) {
  Chart chart = crowded();
  std::vector<double> apart = uprights(chart);
  EXPECT_NEAR(apart[1] - apart[0], 13, 0.02);
  EXPECT_NEAR(apart[2] - apart[1], 13, 0.02);
  EXPECT_GT(apart[3] - apart[2], 50);
  chart.panels[0].beside = false;
  chart.panels[0].x.low = 0.5, chart.panels[0].x.high = 10;
  std::vector<double> over = uprights(chart);
  EXPECT_EQ(over[0], over[1]);
  EXPECT_EQ(over[0], over[2]);
  chart.panels[0].beside = true;
  apart = uprights(chart);
  EXPECT_NEAR(apart[1], over[1], 0.02) << "as far to the left as to the right";
  EXPECT_NEAR(apart[3], over[3], 0.02) << "what stands alone stays";
}

TEST(ChartBeside, AtTheEdgeOfThePlotTheyStayInside) {
  Chart chart = crowded();
  chart.panels[0].x.low = 1;
  std::vector<double> edge = uprights(chart);
  chart.panels[0].beside = false;
  EXPECT_NEAR(edge[0] - uprights(chart)[0], 8, 0.02);
  EXPECT_NEAR(edge[2] - edge[0], 26, 0.02);
  chart.panels[0].beside = true;
  for (int i = 0; i < 200; ++i) chart.panels[0].series.push_back(Series(chart.panels[0].series[0]));
  std::string svg = to_svg(chart);  // more than there is room for
  EXPECT_FALSE(contains(svg, "nan") || contains(svg, "inf"));
}

TEST(ChartBeside, AMarkIsABarAtItsValueWhichIsOnTheAxis) {
  Chart chart = crowded();
  Series& series = chart.panels[0].series[0];
  series.marks = {40, std::numeric_limits<double>::quiet_NaN()};
  std::string svg = to_svg(chart);
  EXPECT_PRED2(contains, svg, ">40</text>");
  std::size_t bar = svg.find("stroke-width=\"2.6\"");
  ASSERT_NE(bar, std::string::npos);
  EXPECT_EQ(svg.find("stroke-width=\"2.6\"", bar + 1), std::string::npos) << "the other has no place";
  series.marks = {40};
  testing::expect_error(ErrorKind::internal, {"expected lists of one length", "marks 1"}, [&] { to_svg(chart); });
}

}  // namespace
}  // namespace reprise::chart
