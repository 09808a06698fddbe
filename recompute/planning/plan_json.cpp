// Plans as JSON, "reprise-plan/2". Keys are those of the structs in plan.h, in their order; bytes and nanoseconds are
// integers, so that a plan that is read and written again is the same bytes.
#include <fmt/ranges.h>

#include "core/text.h"
#include "recompute/json_place.h"
#include "recompute/planning/plan_rules.h"
#include "recompute/planning/planned_methods.h"

namespace reprise {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "reprise-plan/2";

Json segment_json(const PlannedSegment& segment) {
  Json kept = Json::array();
  for (auto [node, result] : segment.kept) kept.push_back({node, result});
  return {{"id", segment.id},
          {"option", segment.option},
          {"replay", segment.replay},
          {"run", segment.run},
          {"run_ends", segment.run_ends},
          {"kept", std::move(kept)},
          {"bytes_kept", segment.bytes_kept},
          {"bytes_preserved", segment.bytes_preserved},
          {"replay_ns", segment.replay_ns},
          {"move_ns", segment.move_ns},
          {"why", segment.why}};
}

Json class_json(const PlannedClass& state) {
  return {{"storage", state.storage},        {"node", state.node},   {"update", state.update},
          {"state", to_string(state.state)}, {"bytes", state.bytes}, {"readers", state.readers}};
}

// ---- reading

constexpr std::int64_t kMostAmount = std::int64_t{1} << 60;  // bytes, nanoseconds: sums of a few do not overflow
constexpr std::int64_t kMostNodes = std::int64_t{1} << 20;   // a list is made of that many
constexpr std::int64_t kMostBit = 63;                        // updates and results of one node are bits of a mask

std::int64_t amount(const JsonPlace& place) { return place.integer(0, kMostAmount); }

StateOption read_state(const JsonPlace& place) {
  return place.one_of({"whole", "region"}) == "whole" ? StateOption::whole : StateOption::region;
}

std::uint32_t read_node(const Plan& plan, const JsonPlace& place) {
  std::int64_t node = place.integer(0, kMostNodes);
  if (node >= plan.nodes) place.refuse("expected a node below {}, got {}", plan.nodes, node);
  return static_cast<std::uint32_t>(node);
}

int read_bit(const JsonPlace& place) { return static_cast<int>(place.integer(0, kMostBit)); }

std::pair<std::uint32_t, int> read_kept(const Plan& plan, const JsonPlace& place) {
  std::vector<JsonPlace> pair = place.list([](const JsonPlace& item) { return item; });
  if (pair.size() != 2) place.refuse("expected a node and a result, got {} items", pair.size());
  return {read_node(plan, pair[0]), read_bit(pair[1])};
}

PlannedSegment read_segment(const Plan& plan, const JsonPlace& p) {
  p.object({"id", "option", "replay", "run", "run_ends", "kept", "bytes_kept", "bytes_preserved", "replay_ns",
            "move_ns", "why"});
  PlannedSegment segment;
  segment.id = p.at("id").text();
  segment.option = p.at("option").text();
  segment.replay = p.at("replay").flag();
  segment.run = static_cast<std::uint32_t>(p.at("run").integer(0, kMostNodes));
  segment.run_ends = p.at("run_ends").flag();
  segment.kept = p.at("kept").list([&](const JsonPlace& kept) { return read_kept(plan, kept); });
  segment.bytes_kept = amount(p.at("bytes_kept"));
  segment.bytes_preserved = amount(p.at("bytes_preserved"));
  segment.replay_ns = amount(p.at("replay_ns"));
  segment.move_ns = amount(p.at("move_ns"));
  segment.why = p.at("why").text();
  return segment;
}

PlannedClass read_class(const Plan& plan, const JsonPlace& p) {
  p.object({"storage", "node", "update", "state", "bytes", "readers"});
  PlannedClass state;
  state.storage = p.at("storage").text();
  state.node = read_node(plan, p.at("node"));
  state.update = read_bit(p.at("update"));
  state.state = read_state(p.at("state"));
  state.bytes = amount(p.at("bytes"));
  state.readers = p.at("readers").texts();
  return state;
}

PlanPrint read_print(const JsonPlace& p) {
  p.object({"trace", "contracts", "build", "threads", "held", "micro_batches", "optimiser"});
  return {p.at("trace").text(),    p.at("contracts").text(),
          p.at("build").text(),    static_cast<int>(p.at("threads").integer(0, 1 << 20)),
          p.at("held").text(),     p.at("micro_batches").integer(1, 1 << 20),
          p.at("optimiser").text()};
}

Plan read_plan(const JsonPlace& p) {
  p.object({"format", "method", "granularity", "made_for", "budget", "predicted_peak", "binding_row", "predicted_ns",
            "lower_bound_ns", "proven", "work", "fallback", "nodes", "segments", "classes"});
  Plan plan;
  plan.method = p.at("method").text();
  if (!allowed_by(plan.method)) {
    p.at("method").refuse("expected one of {}, got '{}'", fmt::join(plannable_methods(), ", "),
                          shown_part(plan.method));
  }
  plan.granularity = p.at("granularity").one_of({"segment", "node"});
  plan.made_for = read_print(p.at("made_for"));
  plan.budget = amount(p.at("budget"));
  plan.predicted_peak = p.at("predicted_peak").integer(1, plan.budget > 0 ? plan.budget : kMostAmount);
  plan.binding_row = p.at("binding_row").text();
  plan.predicted_ns = amount(p.at("predicted_ns"));
  plan.lower_bound_ns = amount(p.at("lower_bound_ns"));
  plan.proven = p.at("proven").flag();
  plan.work = amount(p.at("work"));
  plan.fallback = read_state(p.at("fallback"));
  plan.nodes = static_cast<std::uint32_t>(p.at("nodes").integer(0, kMostNodes));
  plan.segments = p.at("segments").list([&](const JsonPlace& segment) { return read_segment(plan, segment); });
  plan.classes = p.at("classes").list([&](const JsonPlace& state) { return read_class(plan, state); });
  std::string broken = broken_rule(plan);
  if (!broken.empty()) p.refuse("{}", broken);
  return plan;
}

}  // namespace

std::string to_json(const Plan& plan) {
  Json segments = Json::array(), classes = Json::array();
  for (const PlannedSegment& segment : plan.segments) segments.push_back(segment_json(segment));
  for (const PlannedClass& state : plan.classes) classes.push_back(class_json(state));
  Json json{{"format", kFormat},
            {"method", plan.method},
            {"granularity", plan.granularity},
            {"made_for",
             {{"trace", plan.made_for.trace},
              {"contracts", plan.made_for.contracts},
              {"build", plan.made_for.build},
              {"threads", plan.made_for.threads},
              {"held", plan.made_for.held},
              {"micro_batches", plan.made_for.micro_batches},
              {"optimiser", plan.made_for.optimiser}}},
            {"budget", plan.budget},
            {"predicted_peak", plan.predicted_peak},
            {"binding_row", plan.binding_row},
            {"predicted_ns", plan.predicted_ns},
            {"lower_bound_ns", plan.lower_bound_ns},
            {"proven", plan.proven},
            {"work", plan.work},
            {"fallback", to_string(plan.fallback)},
            {"nodes", plan.nodes},
            {"segments", std::move(segments)},
            {"classes", std::move(classes)}};
  return json.dump(1) + "\n";
}

Plan plan_from_json(const std::string& text, const std::string& origin) {
  Json json = parse_document(text, "plan", origin, kFormat, "reprise plan");
  return read_plan(JsonPlace(json, "plan", origin));
}

}  // namespace reprise
