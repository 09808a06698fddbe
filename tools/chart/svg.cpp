#include "tools/chart/svg.h"

#include <fmt/core.h>

#include <cmath>

#include "tools/chart/text.h"

namespace reprise::chart {

std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string path_through(const std::vector<Place>& places) {
  std::vector<Place> kept;
  for (const Place& place : places) {
    Place at{std::round(place.x * 10) / 10, std::round(place.y * 10) / 10};
    bool onward = kept.size() >= 2 && kept.back().y == at.y && kept[kept.size() - 2].y == at.y &&
                  (at.x - kept.back().x) * (kept.back().x - kept[kept.size() - 2].x) >= 0;
    if (onward) {
      kept.back() = at;
    } else {
      kept.push_back(at);
    }
  }
  std::string data;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (i > 0 && kept[i].y == kept[i - 1].y) {
      data += "H" + number(kept[i].x);
    } else if (i > 0 && kept[i].x == kept[i - 1].x) {
      data += "V" + number(kept[i].y);
    } else {
      data.append(i == 0 ? "M" : "L").append(number(kept[i].x)).append(",").append(number(kept[i].y));
    }
  }
  return data;
}

void Svg::finish(const char* element, std::string_view tooltip) {
  if (tooltip.empty()) {
    out_ += "/>\n";
  } else {
    out_ += fmt::format("><title>{}</title></{}>\n", escape_xml(tooltip), element);
  }
}

void Svg::rect(const Box& box, std::string_view style, std::string_view tooltip) {
  out_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}", number(box.x), number(box.y),
                      number(std::fmax(0, box.width)), number(std::fmax(0, box.height)), style);
  finish("rect", tooltip);
}

void Svg::line(Place from, Place to, std::string_view style) {
  out_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}/>\n", number(from.x), number(from.y),
                      number(to.x), number(to.y), style);
}

void Svg::path(std::string_view data, std::string_view style, std::string_view tooltip) {
  if (data.empty()) return;
  out_ += fmt::format("<path d=\"{}\" {}", data, style);
  finish("path", tooltip);
}

void Svg::text(Place at, std::string_view words, const TextStyle& style) {
  if (words.empty()) return;
  out_ += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"", number(at.x), number(at.y),
                      number(style.size), style.colour);
  if (style.anchor != Anchor::start) {
    out_ += fmt::format(" text-anchor=\"{}\"", style.anchor == Anchor::middle ? "middle" : "end");
  }
  if (style.bold) out_ += " font-weight=\"bold\"";
  if (!style.halo.empty()) {
    out_ +=
        fmt::format(" paint-order=\"stroke\" stroke=\"{}\" stroke-width=\"3\" stroke-linejoin=\"round\"", style.halo);
  }
  if (style.turn != 0) {
    out_ += fmt::format(" transform=\"rotate({} {} {})\"", number(style.turn), number(at.x), number(at.y));
  }
  out_ += fmt::format(">{}</text>\n", escape_xml(words));
}

void Svg::open_clip(const Box& box) {
  out_ += fmt::format(
      "<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\" overflow=\"hidden\">\n",
      number(box.x), number(box.y), number(box.width), number(box.height));
}

void Svg::close_clip() { out_ += "</svg>\n"; }

}  // namespace reprise::chart
