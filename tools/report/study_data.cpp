#include "tools/report/study_data.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "recompute/planning/planner.h"

namespace reprise::report {
namespace {

std::size_t rank_of(const std::string& method) {
  const std::vector<std::string>& all = all_methods();
  return static_cast<std::size_t>(std::find(all.begin(), all.end(), method) - all.begin());
}

double greater(double a, double b) { return std::isnan(a) ? b : std::isnan(b) ? a : std::max(a, b); }

double median_in(const Json& json, const char* key) {
  auto found = json.find(key);
  if (found == json.end() || !found->is_array() || found->empty()) return Measured::kNone;
  std::vector<double> values;
  for (const Json& value : *found) {
    if (value.is_number()) values.push_back(value.get<double>());
  }
  return values.empty() ? Measured::kNone : study::median(values);
}

Place place_of(const Json& json) {
  Place place;
  place.workload = text_in(json, "workload");
  place.budget = text_in(json, "budget");
  place.granularity = text_in(json, "granularity");
  place.layout = text_in(json, "layout");
  place.budget_bytes = number_in(json, "budget_bytes");
  place.table_ratio = number_in(json, "table_ratio");
  place.written_share = number_in(json, "written_share");
  auto seed = json.find("seed");
  if (seed != json.end() && seed->is_number_integer()) place.seed = seed->get<std::int64_t>();
  return place;
}

auto key_of(const Place& place) {
  auto known = [](double value) { return std::isnan(value) ? -1 : value; };
  return std::tuple(place.workload, place.budget, place.granularity, place.layout, known(place.table_ratio),
                    known(place.written_share), place.seed);
}

void add_process(Measured& measured, const study::Record& record) {
  const Json& json = record.json;
  measured.predicted_s = greater(measured.predicted_s, number_in(json, "predicted_s"));
  measured.lower_bound_s = greater(measured.lower_bound_s, number_in(json, "lower_bound_s"));
  measured.predicted_peak = greater(measured.predicted_peak, number_in(json, "predicted_peak_bytes"));
  measured.at_smallest = measured.at_smallest || json.value("at_smallest_feasible", Json()) == true;
  if (record.status == "infeasible") ++measured.infeasible;
  if (record.status == "failed") ++measured.failed;
  if (!record.ok()) return;
  ++measured.processes;
  measured.measured_peak = greater(measured.measured_peak, number_in(json, "measured_peak_bytes"));
  measured.rss_peak = greater(measured.rss_peak, number_in(json, "rss_peak_bytes"));
  if (std::string plan = text_in(json, "plan"); !plan.empty()) measured.plans.insert(plan);
  // Of two processes of one block the first counts; what_ran.cpp says that there were two.
  std::int64_t block = json.value("block", std::int64_t{0});
  double wall = median_in(json, "wall_s"), cpu = median_in(json, "cpu_s");
  if (wall > 0) measured.wall.emplace(block, wall);
  if (cpu > 0) measured.cpu.emplace(block, cpu);
}

}  // namespace

std::vector<Place> places_of(const Study& study, const std::string& kind) {
  std::vector<Place> places;
  for (const study::Record& record : study.records) {
    if (record.kind != kind) continue;
    Place here = place_of(record.json);
    auto at = std::find_if(places.begin(), places.end(), [&](const Place& p) { return key_of(p) == key_of(here); });
    if (at == places.end()) at = places.insert(places.end(), here);
    at->resampling = study.resampling;
    if (std::isnan(at->budget_bytes)) at->budget_bytes = here.budget_bytes;
    add_process(at->methods[text_in(record.json, "method")], record);
  }
  return places;
}

Ratio ratio_of(const Place& place, const std::string& method, const std::string& reference) {
  Ratio ratio;
  auto a = place.methods.find(method), b = place.methods.find(reference);
  if (a == place.methods.end() || b == place.methods.end()) return ratio;
  ratio.ratios = study::paired_ratios(a->second.wall, b->second.wall);
  ratio.wall = study::summarise(ratio.ratios, place.resampling);
  ratio.cpu = study::summarise(study::paired_ratios(a->second.cpu, b->second.cpu), place.resampling);
  ratio.predicted = a->second.predicted_s / b->second.predicted_s;
  ratio.unpaired = study::unpaired_blocks(a->second.wall, b->second.wall);
  ratio.same_plan = a->second.plans.size() == 1 && a->second.plans == b->second.plans;
  return ratio;
}

std::vector<std::string> in_order(std::vector<std::string> methods) {
  std::sort(methods.begin(), methods.end(), [](const std::string& a, const std::string& b) {
    return std::pair(rank_of(a), a) < std::pair(rank_of(b), b);
  });
  methods.erase(std::unique(methods.begin(), methods.end()), methods.end());
  return methods;
}

std::vector<std::string> methods_of(const std::vector<Place>& places) {
  std::vector<std::string> methods;
  for (const Place& place : places) {
    for (const auto& [method, measured] : place.methods) methods.push_back(method);
  }
  return in_order(std::move(methods));
}

int slot_of(const std::string& method) { return static_cast<int>(rank_of(method)); }

const Json& start_of(const Study& study) {
  static const Json kNone;
  auto found = std::find_if(study.records.begin(), study.records.end(),
                            [](const study::Record& record) { return record.kind == "study"; });
  return found == study.records.end() ? kNone : found->json;
}

double smallest_feasible(const Study& study, const std::string& workload, const std::string& granularity,
                         const std::string& method) {
  const Json* at = &start_of(study);
  for (const std::string& key : {std::string("smallest_feasible"), workload, granularity}) {
    if (!at->is_object() || !at->contains(key)) return Measured::kNone;
    at = &(*at)[key];
  }
  return number_in(*at, method.c_str());
}

double number_in(const Json& json, const char* key) {
  auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : Measured::kNone;
}

}  // namespace reprise::report
