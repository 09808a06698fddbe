#include "tools/bench/planner_public.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/error.h"
#include "data/archive.h"
#include "data/folder.h"
#include "recompute/json_place.h"
#include "recompute/solver/solve.h"
#include "tools/bench/planner_traces.h"
#include "tools/bench/published_bounds.h"

namespace reprise::bench {
namespace {

using solver::Allowed;
using solver::Solution;

constexpr int kTraceSegments = 48;
constexpr int kGraphSegments[] = {8, 16, 32, 64, 128};  // the best of these counts

const std::vector<std::pair<const char*, Allowed>> kMethods = {
    {"retain", {true, false, false}},       {"whole", {false, true, false}},
    {"region", {false, false, true}},       {"retain+whole", {true, true, false}},
    {"retain+region", {true, false, true}}, {"whole+region", {false, true, true}},
    {"joint", {true, true, true}}};

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder, const std::string& ending) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const std::filesystem::path& path : paths_in(folder, error)) {
    if (path.filename().string().ends_with(ending)) files.push_back(path);
  }
  return files;
}

double over(std::int64_t time, std::int64_t base) {
  return 100 * (static_cast<double>(time) / static_cast<double>(base) - 1);
}

std::string percent(const Solution& solution, std::int64_t base) {
  return solution.feasible ? fmt::format("{:+.2f}", over(solution.time_ns, base)) : "-";
}

std::string certificate(const Solution& solution) {
  return solution.proven ? "proven" : fmt::format("gap {:.4f} %", 100 * solution.gap);
}

void add_trace(const Trace& trace, Report& report, bool quick) {
  solver::Instance instance = instance_of(trace, kTraceSegments);
  std::int64_t peak = solver::solve(instance, INT64_MAX / 4, kMethods[0].second).peak;
  double smallest = static_cast<double>(solver::smallest_budget(instance, kMethods.back().second).bytes);
  std::vector<int> shares = quick ? std::vector<int>{60} : std::vector<int>{30, 40, 50, 60, 70, 80, 90, 100};
  for (int share : shares) {
    std::string others;
    Solution joint;
    double seconds = 0;
    for (const auto& [name, allowed] : kMethods) {
      double start = wall_seconds();
      joint = solver::solve(instance, peak / 100 * share + (share == 100 ? peak % 100 : 0), allowed);
      seconds = wall_seconds() - start;
      others += fmt::format("{}{} {}", others.empty() ? "" : ", ", name, percent(joint, instance.base_time_ns));
    }
    Row row{.what = fmt::format("{} at {} % of {:.2f} GB", trace.name, share, static_cast<double>(peak) / 1e9),
            .unit = "%"};
    if (joint.feasible) row.ours.add(over(joint.time_ns, instance.base_time_ns));
    row.note =
        others + (joint.feasible ? fmt::format("; {} in {:.2f} s", certificate(joint), seconds)
                                 : fmt::format("; the least is {:.0f} %", 100 * smallest / static_cast<double>(peak)));
    report.add(std::move(row));
  }
}

/// A graph cut into more and fewer segments: few, long ones reach low budgets, many leave more choice.
struct Cuts {
  std::vector<solver::Instance> instances;
  std::int64_t peak = 0, smallest = INT64_MAX;
};

Cuts cuts_of(const Trace& trace) {
  Cuts cuts;
  for (int segments : kGraphSegments) {
    cuts.instances.push_back(instance_of(trace, segments));
    const solver::Instance& instance = cuts.instances.back();
    cuts.peak = solver::solve(instance, INT64_MAX / 4, kMethods[0].second).peak;
    cuts.smallest = std::min(cuts.smallest, solver::smallest_budget(instance, kMethods.back().second).bytes);
  }
  return cuts;
}

constexpr double kGibibyte = 1073741824.0;

std::string took(double seconds) {
  return seconds > 0 ? fmt::format(" took {:.0f} s", seconds) : std::string(": no time");
}

struct PublishedPlan {
  std::string instance;
  double gigabytes = 0;           // of 2^30 bytes
  double time = 0;                // in 10 us
  double solve_seconds = 0;       // not above 0: not told
  std::optional<double> bound{};  // as time, of any plan of their space; nothing: none is published
};

void add_graph(const Trace& trace, const std::string& key, const std::vector<PublishedPlan>& published,
               Report& report) {
  Cuts cuts = cuts_of(trace);
  std::map<double, const PublishedPlan*> plans;
  for (const PublishedPlan& plan : published) {
    if (plan.instance == key) plans[plan.gigabytes] = &plan;
  }
  for (const auto& [gigabytes, plan] : plans) {
    Solution best;
    std::size_t segments = 0;
    double start = wall_seconds();
    for (const solver::Instance& instance : cuts.instances) {
      auto budget = static_cast<std::int64_t>(gigabytes * kGibibyte);
      Solution joint = solver::solve(instance, budget, kMethods.back().second);
      if (!joint.feasible || (best.feasible && joint.time_ns >= best.time_ns)) continue;
      best = joint;
      segments = instance.segments.size();
    }
    Row row{.what = fmt::format("{} in {} GiB", key, gigabytes), .unit = "%"};
    if (best.feasible) row.ours.add(over(best.time_ns, cuts.instances[0].base_time_ns));
    // Theirs counts in 10 us. What it starts from is the sum over the graph: a published start holds its own recompute.
    double base = static_cast<double>(cuts.instances[0].base_time_ns) / 1e4;
    row.peer.add(100 * (plan->time / base - 1));
    row.note = best.feasible ? fmt::format("{} segments, {}", segments, certificate(best)) : std::string("no plan");
    row.note += fmt::format(" in {:.2f} s; no recompute {:.2f}, least {:.2f} GiB; theirs{}, {}", wall_seconds() - start,
                            static_cast<double>(cuts.peak) / kGibibyte, static_cast<double>(cuts.smallest) / kGibibyte,
                            took(plan->solve_seconds),
                            plan->bound ? fmt::format("bound {:.3f} %", 100 * (*plan->bound / base - 1)) : "no bound");
    report.add(std::move(row));
  }
}

/// The plans published with the graphs in `folder`, each with the bound that is published for it.
std::vector<PublishedPlan> published_plans(const std::filesystem::path& folder) {
  std::filesystem::path file = folder / "published_solutions.json";
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return {};
  std::vector<std::uint8_t> bytes = read_bytes(file, 64'000'000);
  Json json = Json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (json.is_discarded()) fail(ErrorKind::user, "[bench] expected JSON in {}, got something else.", file.string());
  std::vector<PublishedPlan> plans = JsonPlace(json, "bench", file.string()).list([](const JsonPlace& plan) {
    return PublishedPlan{plan.at("instance").text(), plan.at("budget_gb").real(0, 1e6),
                         plan.at("runtime_expected").real(0, 1e15), plan.at("solve_time").real(-1, 1e9)};
  });
  std::map<GraphAtBudget, double> bounds = published_bounds(folder / "gurobi_summary.csv");
  for (PublishedPlan& plan : plans) {
    if (auto at = bounds.find({plan.instance, plan.gigabytes}); at != bounds.end()) plan.bound = at->second;
  }
  return plans;
}

}  // namespace

Report bench_public_instances(const BenchOptions& options) {
  std::filesystem::path folder = options.instances;
  auto traces = files_in(folder / "dtr", ".ops.json.gz"), graphs = files_in(folder / "monet", ".json.gz");
  if (traces.empty() && graphs.empty()) {
    fail(ErrorKind::user, "[bench] expected dtr/*.ops.json.gz or monet/*.json.gz in {}, got neither", folder.string());
  }
  if (options.quick) {
    traces.resize(std::min<std::size_t>(1, traces.size()));
    graphs.resize(std::min<std::size_t>(1, graphs.size()));
  }
  Report report("planner: public traces and graphs; step time over no recompute under joint",
                header_of(options, 1, nullptr));
  for (const auto& file : traces) {
    Trace trace = read_dtr_trace(file);
    if (trace.marked) {
      add_trace(trace, report, options.quick);
    } else {
      report.remark(fmt::format("{} is left out: its trace does not say where the backward begins.", trace.name));
    }
  }
  std::vector<PublishedPlan> published = published_plans(folder / "monet");
  for (const auto& file : graphs) {
    std::string key = file.filename().string();
    key.resize(key.size() - std::string(".json.gz").size());
    add_graph(read_monet_graph(file), key, published, report);
  }
  report.remark(fmt::format(
      "Traces: {} segments, their own in-place writes, whole storages only, so that a record is a copy. Graphs: ours "
      "replays segments of consecutive operators (the best of 8 to 128 of them) and changes no operator; peer: the "
      "published plans of MONeT and Checkmate, which choose single operators, and under multiway, conv and inplace "
      "other implementations too. Ours plans every graph out of place. Their bound is what Gurobi proved of their own "
      "space in at most a day (gurobi_summary.csv), over no recompute like the times.",
      kTraceSegments));
  return report;
}

}  // namespace reprise::bench
