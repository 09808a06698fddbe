// Points side by side: where several series have values at about one x, each gets a track of its own.
#include <algorithm>
#include <cmath>

#include "tools/chart/plot.h"

namespace reprise::chart {
namespace {

constexpr double kSamePlace = 4, kTrack = 13, kFromEdge = 8;  // pixels

/// Points of one series at about one x, and where they are drawn.
struct Track {
  std::size_t series;
  std::vector<std::size_t> points;
  double x;  // the middle of where they lie
};

void add_tracks(std::vector<Track>& tracks, std::size_t series, const std::vector<double>& pixels) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    if (std::isfinite(pixels[i])) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return pixels[a] < pixels[b]; });
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && pixels[order[end]] - pixels[order[begin]] <= kSamePlace) ++end;
    double middle = 0.5 * (pixels[order[begin]] + pixels[order[end - 1]]);
    tracks.push_back({series, {order.begin() + std::ptrdiff_t(begin), order.begin() + std::ptrdiff_t(end)}, middle});
  }
}

/// From left to right; those at about one x in the order of their series.
void sort_tracks(std::vector<Track>& tracks) {
  std::stable_sort(tracks.begin(), tracks.end(), [](const Track& a, const Track& b) { return a.x < b.x; });
  for (std::size_t begin = 0, end = 0; begin < tracks.size(); begin = end) {
    while (end < tracks.size() && tracks[end].x - tracks[begin].x <= kSamePlace) ++end;
    std::stable_sort(tracks.begin() + std::ptrdiff_t(begin), tracks.begin() + std::ptrdiff_t(end),
                     [](const Track& a, const Track& b) { return a.series < b.series; });
  }
}

/// Moves the tracks apart, each as little as can be in squares (pool adjacent violators), and into the plot.
void spread_tracks(std::vector<Track>& tracks, const Box& box) {
  struct TrackPool {
    double sum;
    std::size_t count;
    double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<TrackPool> pools;
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    pools.push_back({tracks[i].x - kTrack * static_cast<double>(i), 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      TrackPool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().count += last.count;
    }
  }
  double left = box.x + kFromEdge, right = box.right() - kFromEdge - kTrack * static_cast<double>(tracks.size() - 1);
  std::size_t at = 0;
  for (const TrackPool& pool : pools) {
    double begin = right < left ? pool.mean() : std::clamp(pool.mean(), left, right);
    for (std::size_t i = 0; i < pool.count; ++i, ++at) tracks[at].x = begin + kTrack * static_cast<double>(at);
  }
}

}  // namespace

std::vector<std::vector<double>> places_of_points(const Plot& plot) {
  const Panel& panel = *plot.panel;
  std::vector<std::vector<double>> all(panel.series.size());
  std::vector<Track> tracks;
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    const Series& series = panel.series[i];
    if (series.kind != SeriesKind::points) continue;
    for (std::size_t k = 0; k < series.x.size(); ++k) {
      bool shown = can_show(series.x[k], plot.x.kind) && can_show(series.y[k], plot.y.kind);
      all[i].push_back(shown ? plot.x(series.x[k]) : HUGE_VAL);
    }
    if (panel.beside) add_tracks(tracks, i, all[i]);
  }
  if (tracks.empty()) return all;
  sort_tracks(tracks);
  spread_tracks(tracks, plot.box);
  for (const Track& track : tracks) {
    for (std::size_t point : track.points) all[track.series][point] = track.x;
  }
  return all;
}

}  // namespace reprise::chart
