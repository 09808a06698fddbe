// Colours and dashes of charts tell series apart, also where all is grey.
#include "tools/chart/palette.h"

#include <gtest/gtest.h>

#include <string>

namespace reprise::chart {
namespace {

TEST(ChartPalette, ColoursReadInGreyToo) {
  auto grey = [](const std::string& colour) {
    auto part = [&](std::size_t at) { return std::stoi(colour.substr(at, 2), nullptr, 16); };
    return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
  };
  for (int i = 1; i <= 20; ++i) EXPECT_GT(grey(heat_colour(i / 20.0)), grey(heat_colour((i - 1) / 20.0)));
  for (int a = 0; a < 16; ++a) {
    for (int b = 0; b < a; ++b) {
      LineStyle first = line_style(a), second = line_style(b);
      EXPECT_TRUE(std::string(first.dash) != second.dash || std::string(first.colour) != second.colour);
      EXPECT_TRUE(a >= 8 || (std::string(first.dash) != second.dash && first.shape != second.shape));
    }
  }
}

}  // namespace
}  // namespace reprise::chart
