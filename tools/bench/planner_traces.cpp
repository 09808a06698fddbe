#include "tools/bench/planner_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "data/archive.h"
#include "models/run/json_text.h"

namespace reprise::bench {
namespace {

constexpr std::int64_t kMostBytes = 256'000'000;  // of an unpacked file

Json read_json(const std::filesystem::path& file) {
  std::vector<std::uint8_t> bytes = read_bytes(file, kMostBytes);
  Json json = Json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (json.is_discarded()) fail(ErrorKind::user, "[bench] expected JSON in {}, got something else.", file.string());
  return json;
}

std::vector<TraceValue> values_of(const Json& list) {
  std::vector<TraceValue> values;
  for (const Json& pair : list) values.push_back({pair[0].get<std::int32_t>(), pair[1].get<std::int32_t>()});
  return values;
}

/// The first algorithm that ran: a failed one is written as -1.
double first_time(const Json& list) {
  for (const Json& ms : list) {
    if (ms.get<double>() >= 0) return ms.get<double>();
  }
  return 0;
}

/// Every storage ends with the last operator that reads it.
void free_after_last_read(Trace& trace) {
  std::vector<std::int32_t> last(trace.bytes.size(), -1);
  for (std::size_t t = 0; t < trace.ops.size(); ++t) {
    for (std::int32_t s : trace.ops[t].made) last[s] = static_cast<std::int32_t>(t);
    for (const TraceValue& value : trace.ops[t].reads) last[value.storage] = static_cast<std::int32_t>(t);
  }
  for (std::size_t s = 0; s < last.size(); ++s) {
    if (last[s] >= 0) trace.ops[last[s]].freed.push_back(static_cast<std::int32_t>(s));
  }
}

}  // namespace

Trace read_dtr_trace(const std::filesystem::path& file) {
  Json json = read_json(file);
  try {
    Trace trace;
    trace.name = json.at("model").get<std::string>();
    trace.bytes = json.at("storage_bytes").get<std::vector<std::int64_t>>();
    for (const Json& line : json.at("ops")) {
      TraceOp op;
      op.time_ns = line.at("t_ns").get<std::int64_t>();
      op.backward = line.at("bwd").get<bool>();
      op.constant = line.at("op") == "constant";
      trace.marked = trace.marked || line.at("op") == "#BACKWARD";
      op.reads = values_of(line.at("read"));
      op.writes = values_of(line.at("write"));
      op.made = line.at("alloc").get<std::vector<std::int32_t>>();
      op.freed = line.at("free").get<std::vector<std::int32_t>>();
      trace.ops.push_back(std::move(op));
    }
    return trace;
  } catch (const Json::exception& error) {
    fail(ErrorKind::user, "[bench] expected an operator trace in {}: {}", file.string(), error.what());
  }
}

Trace read_monet_graph(const std::filesystem::path& file) {
  Json json = read_json(file);
  try {
    Trace trace;
    trace.name = json.at("mode").get<std::string>();
    for (const Json& node : json.at("nodes")) {
      TraceOp op;
      op.backward = node.at("kind") == "BwdNode";
      auto storage = static_cast<std::int32_t>(trace.bytes.size());
      trace.bytes.push_back(node.value("mem", std::int64_t{0}));
      op.made = {storage};
      if (node.contains("workspace_compute")) op.time_ns = std::llround(first_time(node["workspace_compute"]) * 1e6);
      if (node.contains("args")) {
        for (const Json& group : node["args"]) {
          for (const Json& arg : group) op.reads.push_back({arg.get<std::int32_t>(), 0});
        }
      }
      op.own_bytes = node.value("fixed_mem", std::int64_t{0});
      if (node.contains("workspace_mem") && !node["workspace_mem"].empty()) {
        op.own_bytes += std::max<std::int64_t>(0, std::llround(node["workspace_mem"][0].get<double>() * 1048576));
      }
      trace.ops.push_back(std::move(op));
    }
    free_after_last_read(trace);
    return trace;
  } catch (const Json::exception& error) {
    fail(ErrorKind::user, "[bench] expected a profiled graph in {}: {}", file.string(), error.what());
  }
}

}  // namespace reprise::bench
