// Memory over the step as a stacked picture: categories below, the predicted and the measured total on top of them, and
// below the plot when each segment runs and which rows bind.
#include <algorithm>

#include "core/text.h"
#include "tools/chart/chart.h"
#include "tools/memory_picture/memory_picture.h"

namespace reprise {

namespace {

constexpr std::size_t kMostLanes = 24;

/// From what lasts to what comes and goes, so that the lower areas are flat.
constexpr Category kOrder[] = {Category::parameters,  Category::gradients,  Category::optimiser,
                               Category::state,       Category::data,       Category::preserved,
                               Category::activations, Category::cotangents, Category::workspace};

std::int64_t sum(const CategoryBytes& bytes) {
  std::int64_t total = 0;
  for (std::int64_t b : bytes) total += b;
  return total;
}

chart::Series area(const StepTimeline& timeline, Category category) {
  chart::Series series;
  series.kind = chart::SeriesKind::step_area;
  series.name = to_string(category);
  std::int64_t live = timeline.before[static_cast<std::size_t>(category)];
  series.x.push_back(0);
  series.y.push_back(static_cast<double>(live));
  for (std::size_t i = 0; i < timeline.events.size(); ++i) {
    if (timeline.events[i].category == category) live += timeline.events[i].delta;
    series.x.push_back(static_cast<double>(i + 1));
    series.y.push_back(static_cast<double>(live));
  }
  return series;
}

chart::Series total(const StepTimeline& timeline, const char* name) {
  chart::Series series;
  series.kind = chart::SeriesKind::step;
  series.name = name;
  series.x.push_back(0);
  series.y.push_back(static_cast<double>(sum(timeline.before)));
  for (std::size_t i = 0; i < timeline.events.size(); ++i) {
    series.x.push_back(static_cast<double>(i + 1));
    series.y.push_back(static_cast<double>(timeline.events[i].live));
  }
  return series;
}

/// "layer1.0" of "backward of layer1.0, micro-batch 2".
std::string segment_of(const std::string& row) {
  std::string rest = row.substr(row.find(" of ") + 4);
  return rest.substr(0, rest.find(", micro-batch"));
}

/// Neighbouring rows that bind are one hatched range.
void add_binding(const StepTimeline& timeline, chart::Panel& panel) {
  const TimelineRow* last = nullptr;
  for (const TimelineRow& row : timeline.rows) {
    if (row.begin == row.end || row.peak < timeline.peak - timeline.peak / 100) continue;
    if (last && last->end == row.begin) {
      panel.bands.back().to = static_cast<double>(row.end);
      panel.bands.back().label += ", " + segment_of(row.name);
    } else {
      panel.bands.push_back({chart::Along::x, static_cast<double>(row.begin), static_cast<double>(row.end),
                             "binding: " + segment_of(row.name)});
    }
    last = &row;
  }
}

void add_lanes(const StepTimeline& timeline, chart::Panel& panel) {
  std::vector<chart::Lane> lanes;
  for (const TimelineRow& row : timeline.rows) {
    if (row.begin == row.end) continue;
    std::pair<double, double> range(static_cast<double>(row.begin), static_cast<double>(row.end));
    std::string name = segment_of(row.name);
    if (name.starts_with("(outside)")) continue;
    auto lane = std::find_if(lanes.begin(), lanes.end(), [&](const chart::Lane& l) { return l.name == name; });
    if (lane == lanes.end()) lane = lanes.insert(lane, chart::Lane{name, {}});
    lane->ranges.push_back(range);
  }
  if (lanes.size() > kMostLanes) return;
  panel.lanes = std::move(lanes);
  panel.lanes_label = "when a segment runs: forward, then replay and backward";
}

}  // namespace

std::string memory_svg(const MemoryPicture& picture) {
  const StepTimeline& timeline = picture.predicted;
  chart::Panel panel;
  panel.x.label = "changes of the live bytes, in the order of the step";
  panel.x.unit = chart::Unit::count;
  panel.y.label = "live bytes";
  panel.y.unit = chart::Unit::bytes;
  panel.height = 360;
  for (Category category : kOrder) {
    chart::Series series = area(timeline, category);
    if (*std::max_element(series.y.begin(), series.y.end()) > 0) panel.series.push_back(std::move(series));
  }
  panel.series.push_back(total(timeline, "predicted"));
  if (picture.measured) panel.series.push_back(total(*picture.measured, "measured"));
  if (picture.budget > 0)
    panel.rules.push_back(
        {chart::Along::y, static_cast<double>(picture.budget), "budget " + short_bytes(picture.budget)});
  for (std::size_t r = 1; r < timeline.rows.size(); ++r) {
    bool turns = timeline.rows[r].name.find("backward of") != std::string::npos &&
                 timeline.rows[r - 1].name.find("forward of") != std::string::npos;
    if (turns) panel.rules.push_back({chart::Along::x, static_cast<double>(timeline.rows[r].begin), "backward"});
  }
  add_lanes(timeline, panel);
  add_binding(timeline, panel);
  chart::Chart chart;
  chart.title = "Memory over the step";
  std::vector<std::string> binding = timeline.binding_rows();
  chart.subtitle = fmt::format("{}; peak {} ({} bytes), in the {}", picture.title, short_bytes(timeline.peak),
                               timeline.peak, binding.empty() ? "" : binding.front());
  if (binding.size() > 1) chart.subtitle += fmt::format(" and {} more", binding.size() - 1);
  if (picture.measured) {
    bool holds = picture.difference().empty();
    chart.footnote = !holds          ? "predicted and measured DIFFER: " + picture.difference()
                     : picture.exact ? "predicted and measured are equal, event by event"
                                     : "sizes depend on data: the prediction is an upper bound";
  }
  chart.panels.push_back(std::move(panel));
  return chart::to_svg(chart);
}

}  // namespace reprise
