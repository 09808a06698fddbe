// Plans as JSON, "reprise-plan/1". Keys are those of the structs in plan.h, in their order; bytes and nanoseconds are
// integers, so that a plan that is read and written again is the same bytes.
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "recompute/planning/plan.h"

namespace reprise {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "reprise-plan/1";

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
  return {{"storage", state.storage}, {"node", state.node},   {"update", state.update},
          {"state", to_string(state.state)}, {"bytes", state.bytes}, {"readers", state.readers}};
}

StateOption read_state(const Json& json, const std::string& origin) {
  auto text = json.get<std::string>();
  if (text == "whole") return StateOption::whole;
  if (text == "region") return StateOption::region;
  fail(ErrorKind::user, "[plan] expected a state of whole or region in {}, got '{}'", origin, text);
}

void read_node(const Plan& plan, std::int64_t node, const std::string& origin) {
  if (node >= 0 && node < plan.nodes) return;
  fail(ErrorKind::user, "[plan] expected nodes below {} in {}, got {}", plan.nodes, origin, node);
}

int read_bit(const Json& json, const std::string& origin) {
  auto bit = json.get<std::int64_t>();
  if (bit < 0 || bit >= 64) fail(ErrorKind::user, "[plan] expected an update or result below 64 in {}, got {}", origin, bit);
  return static_cast<int>(bit);
}

PlannedSegment read_segment(const Plan& plan, const Json& json, const std::string& origin) {
  PlannedSegment segment;
  json.at("id").get_to(segment.id);
  json.at("option").get_to(segment.option);
  json.at("replay").get_to(segment.replay);
  json.at("run").get_to(segment.run);
  json.at("run_ends").get_to(segment.run_ends);
  for (const Json& kept : json.at("kept")) {
    auto node = kept.at(0).get<std::int64_t>();
    read_node(plan, node, origin);
    segment.kept.emplace_back(static_cast<std::uint32_t>(node), read_bit(kept.at(1), origin));
  }
  json.at("bytes_kept").get_to(segment.bytes_kept);
  json.at("bytes_preserved").get_to(segment.bytes_preserved);
  json.at("replay_ns").get_to(segment.replay_ns);
  json.at("move_ns").get_to(segment.move_ns);
  json.at("why").get_to(segment.why);
  return segment;
}

PlannedClass read_class(const Plan& plan, const Json& json, const std::string& origin) {
  PlannedClass state;
  json.at("storage").get_to(state.storage);
  auto node = json.at("node").get<std::int64_t>();
  read_node(plan, node, origin);
  state.node = static_cast<std::uint32_t>(node);
  state.update = read_bit(json.at("update"), origin);
  state.state = read_state(json.at("state"), origin);
  json.at("bytes").get_to(state.bytes);
  json.at("readers").get_to(state.readers);
  return state;
}

Plan read_plan(const Json& json, const std::string& origin) {
  Plan plan;
  json.at("method").get_to(plan.method);
  json.at("granularity").get_to(plan.granularity);
  const Json& print = json.at("made_for");
  print.at("trace").get_to(plan.made_for.trace);
  print.at("contracts").get_to(plan.made_for.contracts);
  print.at("build").get_to(plan.made_for.build);
  print.at("threads").get_to(plan.made_for.threads);
  json.at("budget").get_to(plan.budget);
  json.at("predicted_peak").get_to(plan.predicted_peak);
  json.at("binding_row").get_to(plan.binding_row);
  json.at("predicted_ns").get_to(plan.predicted_ns);
  json.at("lower_bound_ns").get_to(plan.lower_bound_ns);
  json.at("proven").get_to(plan.proven);
  json.at("work").get_to(plan.work);
  plan.fallback = read_state(json.at("fallback"), origin);
  auto nodes = json.at("nodes").get<std::int64_t>();
  if (nodes < 0 || nodes > 100'000'000) fail(ErrorKind::user, "[plan] expected a number of nodes in {}, got {}", origin, nodes);
  plan.nodes = static_cast<std::uint32_t>(nodes);
  for (const Json& segment : json.at("segments")) plan.segments.push_back(read_segment(plan, segment, origin));
  for (const Json& state : json.at("classes")) plan.classes.push_back(read_class(plan, state, origin));
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
              {"threads", plan.made_for.threads}}},
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
  try {
    Json json = Json::parse(text);
    std::string format = json.is_object() ? json.value("format", "") : "";
    if (format != kFormat) fail(ErrorKind::user, "[plan] expected {} to have format '{}', got '{}'", origin, kFormat, format);
    return read_plan(json, origin);
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorKind::user, "[plan] expected {} to be a plan written by `reprise plan`, got {}", origin, error.what());
  }
}

}  // namespace reprise
