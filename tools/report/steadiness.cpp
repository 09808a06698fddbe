// How far measured step times are from the predicted ones, and how far processes of one plan are from each other.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "tools/chart/ticks.h"
#include "tools/report/sections.h"
#include "tools/report/wording.h"

namespace reprise::report {
namespace {

constexpr std::size_t kManyProcesses = 15;  // processes, for the slowest of them to say something

/// The processes of one method at one budget, over all seeds.
struct MethodTimes {
  std::vector<double> wall;
  double predicted_s = Measured::kNone;
};

struct Spreads {
  std::vector<double> to_predicted, slowest_to_fastest;

  void add(const MethodTimes& times) {
    double ratio = study::median(times.wall) / times.predicted_s;
    if (std::isfinite(ratio)) to_predicted.push_back(ratio);
    study::Interval range = study::range(times.wall);
    if (times.wall.size() >= kManyProcesses) slowest_to_fastest.push_back(range.high / range.low);
  }
};

void add_spreads(Table& table, const std::string& name, const std::string& granularity, const Spreads& spreads) {
  auto text = [](double value) { return std::isfinite(value) ? chart::decimal_text(value, 4) : "none"; };
  study::Interval predicted = study::range(spreads.to_predicted), spread = study::range(spreads.slowest_to_fastest);
  double middle = spreads.slowest_to_fastest.empty() ? Measured::kNone : study::median(spreads.slowest_to_fastest);
  table.rows.push_back({name, granularity, count_text(static_cast<std::int64_t>(spreads.to_predicted.size())),
                        text(predicted.low), text(predicted.high),
                        count_text(static_cast<std::int64_t>(spreads.slowest_to_fastest.size())), text(spread.low),
                        text(middle), text(spread.high)});
}

}  // namespace

void add_steadiness(Document& document, const std::vector<Place>& places) {
  std::vector<std::pair<std::string, std::string>> order;  // as they come
  std::map<std::tuple<std::string, std::string, std::string, std::string>, MethodTimes> methods;
  for (const Place& place : places) {
    std::string name = place.workload.empty() ? place.layout : place.workload;
    if (std::pair key(name, place.granularity); std::find(order.begin(), order.end(), key) == order.end())
      order.push_back(key);
    for (const auto& [method, measured] : place.methods) {
      MethodTimes& times = methods[{name, place.granularity, place.budget, method}];
      for (const auto& [block, seconds] : measured.wall) times.wall.push_back(seconds);
      if (!measured.wall.empty()) times.predicted_s = measured.predicted_s;
    }
  }
  Table table{
      fmt::format("Medians of measured step times over predicted ones, of methods at their budgets; and, where one "
                  "has at least {} processes, the slowest of them over the fastest",
                  kManyProcesses),
      {{"of", false},
       {"granularity", false},
       {"methods at budgets"},
       {"over predicted, least"},
       {"greatest"},
       {"methods with many processes"},
       {"slowest over fastest, least"},
       {"in the middle"},
       {"most"}},
      {},
      {}};
  Spreads all;
  for (const auto& [name, granularity] : order) {
    Spreads spreads;
    for (const auto& [key, times] : methods) {
      if (std::get<0>(key) != name || std::get<1>(key) != granularity || times.wall.empty()) continue;
      spreads.add(times);
      all.add(times);
    }
    if (!spreads.to_predicted.empty()) add_spreads(table, name, granularity, spreads);
  }
  if (table.rows.size() > 1) add_spreads(table, "all", "", all);
  if (table.rows.empty()) return;
  document.heading(3, "How steady, and how well predicted");
  document.table(std::move(table));
}

}  // namespace reprise::report
