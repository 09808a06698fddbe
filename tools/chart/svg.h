// Writes SVG elements into a string. Used by the parts of a chart.
//
// Numbers are written with at most two decimals, so that the same picture has the same bytes; text is escaped here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reprise::chart {

struct Place {
  double x = 0, y = 0;
};

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

enum class Anchor { start, middle, end };

struct TextStyle {
  double size = 12;
  Anchor anchor = Anchor::start;
  const char* colour = "#333333";
  bool bold = false;
  std::string halo = {};  // colour of an edge, for text over other things
  double turn = 0;        // degrees, clockwise
};

/// 12.5, never 12.50 or -0.
std::string number(double value);
/// "M1,2L3,4...": one stroke through the places, to a tenth of a pixel; "" for none.
std::string path_through(const std::vector<Place>& places);

class Svg {
 public:
  /// `style` in all of these is attributes, such as fill="#000".
  void rect(const Box& box, std::string_view style, std::string_view tooltip = {});
  void line(Place from, Place to, std::string_view style);
  void path(std::string_view data, std::string_view style, std::string_view tooltip = {});
  void text(Place at, std::string_view words, const TextStyle& style);
  /// What follows, up to close_clip(), is cut off outside the box. Coordinates stay those of the whole picture.
  void open_clip(const Box& box);
  void close_clip();
  void raw(std::string_view markup) { out_ += markup; }

  const std::string& markup() const { return out_; }

 private:
  void finish(const char* element, std::string_view tooltip);
  std::string out_;
};

}  // namespace reprise::chart
