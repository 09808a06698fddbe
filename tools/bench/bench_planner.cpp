// The search for plans at scale: made-up steps, each in a process of its own, beside Cbc on the same problem.
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <sstream>

#include "core/error.h"
#include "data/atomic_file.h"
#include "recompute/solver/lp_export.h"
#include "recompute/solver/solve.h"
#include "recompute/solver/synthetic.h"
#include "tools/bench/bench.h"
#include "tools/bench/planner_public.h"
#include "tools/bench/scratch_folder.h"

namespace reprise::bench {
namespace {

using solver::Allowed;
using solver::Instance;
using solver::Sharing;
using solver::Solution;

constexpr Allowed kRetain{true, false, false}, kRetainRegion{true, false, true}, kJoint{true, true, true};
constexpr double kBudgetShare = 0.3;  // of the way from the smallest budget to no recompute
constexpr int kMostForCbc = 1000;     // segments; the file of more takes longer to read than Cbc is given
constexpr int kCbcSeconds = 60;

struct Case {
  Sharing sharing = Sharing::none;
  int segments = 0;
  Allowed allowed;
  std::string name() const {
    return fmt::format("{} {} {}", to_string(sharing), segments, allowed.whole ? "joint" : "retain+region");
  }
};

Case read_case(const std::string& text) {
  std::istringstream in(text);
  std::string sharing, method;
  Case result;
  in >> sharing >> result.segments >> method;
  for (Sharing s : {Sharing::none, Sharing::local, Sharing::scattered}) {
    if (sharing == to_string(s)) result.sharing = s;
  }
  result.allowed = method == "joint" ? kJoint : kRetainRegion;
  if (result.segments < 1) fail(ErrorKind::user, "[bench] expected \"local 1000 joint\", got \"{}\".", text);
  return result;
}

Instance instance_of(const Case& c) {
  return solver::synthetic_step({.segments = c.segments, .sharing = c.sharing, .classes = 0.1, .seed = 1});
}

std::int64_t budget_of(const Instance& instance, const Allowed& allowed) {
  std::int64_t low = solver::smallest_budget(instance, allowed).bytes;
  std::int64_t high = solver::solve(instance, INT64_MAX / 4, kRetain).peak;
  return low + static_cast<std::int64_t>(kBudgetShare * static_cast<double>(high - low));
}

/// The same problem for Cbc, if it is installed: what it reached, in words, and its seconds.
std::string beside_cbc(const Instance& instance, std::int64_t budget, const Allowed& allowed, double ours,
                       Samples& seconds) {
  ScratchFolder folder;
  std::filesystem::path file = folder / "planner.lp";
  write_file_atomically(file, solver::to_lp(instance, budget, allowed));
  Child child = run_child({"timeout", "-k", "1", fmt::format("{}", kCbcSeconds + 30), "cbc", file.string(), "-sec",
                           fmt::format("{}", kCbcSeconds), "-solve", "-quit"});
  if (child.code == 127 || child.output.empty()) return "";
  solver::CbcAnswer answer = solver::read_cbc(child.output);
  seconds.add(child.cpu);
  if (!answer.has_plan) return fmt::format("Cbc: no plan in {} s", kCbcSeconds);
  double gap = answer.objective > 0 ? 100 * (answer.objective - answer.bound) / answer.objective : 0;
  return fmt::format("Cbc: {:+.4f} % time, {}", 100 * (answer.objective / ours - 1),
                     answer.optimal ? std::string("proven") : fmt::format("gap {:.4f} %", gap));
}

std::string target_of(const Case& c) {
  if (c.sharing == Sharing::none && c.segments == 1000) return "proven in 1 s";
  if (c.segments == 10000) return "0.01 % in 30 s";
  if (c.segments == 100000) return "0.02 % in 150 s, 2 GiB";
  return "";
}

void add_case(const BenchOptions& options, const Case& c, Report& report) {
  Row row{.what = c.name(), .unit = "s", .target = target_of(c)};
  Child child;
  Json line;
  for (int round = 0; round < options.rounds_or(1); ++round) {
    child = run_self({"bench", "planner", "--planner-case", c.name(), "--threads", "1"});
    line = last_json_line(child, "the planner");
    row.ours.add(line["seconds"].get<double>());
  }
  row.note = fmt::format(
      "{}, +{:.2f} % over no recompute, {:.0f} MiB",
      line["proven"].get<bool>() ? "proven" : fmt::format("gap {:.5f} %", line["gap_percent"].get<double>()),
      line["overhead_percent"].get<double>(), child.peak_mib);
  if (c.segments <= kMostForCbc && !options.quick) {
    std::string theirs = beside_cbc(instance_of(c), line["budget"].get<std::int64_t>(), c.allowed,
                                    line["time_ns"].get<double>(), row.peer);
    if (!theirs.empty()) row.note += "; " + theirs;
  }
  report.add(std::move(row));
}

}  // namespace

Json planner_case(const std::string& what) {
  Case c = read_case(what);
  Instance instance = instance_of(c);
  std::int64_t budget = budget_of(instance, c.allowed);
  std::clock_t start = std::clock();
  Solution solution = solver::solve(instance, budget, c.allowed);
  double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  Solution top = solver::solve(instance, INT64_MAX / 4, kRetain);
  double overhead = 100 * (static_cast<double>(solution.time_ns) / static_cast<double>(top.time_ns) - 1);
  return {{"case", what},
          {"seconds", seconds},
          {"budget", budget},
          {"feasible", solution.feasible},
          {"time_ns", solution.time_ns},
          {"overhead_percent", overhead},
          {"lower_bound_ns", solution.lower_bound_ns},
          {"gap_percent", 100 * solution.gap},
          {"proven", solution.proven},
          {"work", solution.work}};
}

Report bench_planner(const BenchOptions& options) {
  if (!options.instances.empty()) return bench_public_instances(options);
  Report report("planner: from an instance to a plan with its lower bound, one thread",
                header_of(options, options.rounds_or(1), nullptr));
  std::vector<int> sizes = options.quick ? std::vector<int>{20} : std::vector<int>{50, 1000, 10000, 100000};
  for (int segments : sizes) {
    for (Sharing sharing : {Sharing::none, Sharing::local, Sharing::scattered}) {
      for (const Allowed& allowed : {kRetainRegion, kJoint}) add_case(options, {sharing, segments, allowed}, report);
    }
  }
  report.remark(fmt::format(
      "Steps are chains of segments with sizes and times spread as in real encoders, a state that is overwritten per "
      "ten segments, and the budget {:.0f} % of the way from the smallest to no recompute. joint includes the planning "
      "of all methods that it contains. Seconds are of one core. A gap is of the whole step. peer: Cbc, {} s at most, "
      "on the same problem as an "
      "integer programme.",
      100 * kBudgetShare, kCbcSeconds));
  return report;
}

}  // namespace reprise::bench
