// The lower bounds that MONeT's and Checkmate's authors published with their plans: what Gurobi proved in at most a day
// on each graph at each budget. Called by planner_public for the column beside their plans.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace reprise::bench {

/// A graph by the name of its file without ending, and a budget in GiB.
using GraphAtBudget = std::pair<std::string, double>;

/// What a log of theirs is of: "monet_r50_184_24hr/monet_r50_ic_184_07" of monet_resnet50_184_inplace_conv_normal in
/// 7 GiB. Nothing where it is named in another way.
std::optional<GraphAtBudget> graph_of_log(const std::string& log);

/// The bounds in a gurobi_summary.csv, in 10 us: no plan of their space takes less. Empty where there is no file; runs
/// that proved none are left out, and of several bounds on one graph the highest counts.
/// Errors (user): no columns `log` and `best_bound`; a bound that is no number.
std::map<GraphAtBudget, double> published_bounds(const std::filesystem::path& file);

}  // namespace reprise::bench
