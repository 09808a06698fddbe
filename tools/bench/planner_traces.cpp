#include "tools/bench/planner_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "data/archive.h"
#include "models/run/json_text.h"
#include "recompute/json_place.h"

namespace reprise::bench {
namespace {

constexpr std::int64_t kMostBytes = 256'000'000;  // of an unpacked file

Json read_json(const std::filesystem::path& file) {
  std::vector<std::uint8_t> bytes = read_bytes(file, kMostBytes);
  Json json = Json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (json.is_discarded()) fail(ErrorKind::user, "[bench] expected JSON in {}, got something else.", file.string());
  return json;
}

// The limits keep sums over a trace far from overflow.
constexpr std::int64_t kMostStorages = 1 << 20, kMostOps = 1 << 20;
constexpr std::int64_t kMostStorageBytes = std::int64_t{1} << 35;
constexpr std::int64_t kMostNs = std::int64_t{1} << 35;  // of one operator: half a minute
constexpr std::int64_t kMostVersion = std::int64_t{1} << 30;
constexpr double kMostMs = 1e4, kMostMebibytes = 32768;
constexpr double kFailed = -1e9;  // below 0 is written where an algorithm did not run

std::int32_t index_below(const JsonPlace& place, std::size_t count) {
  if (count == 0) place.refuse("expected nothing, since there is nothing before it");
  return static_cast<std::int32_t>(place.integer(0, static_cast<std::int64_t>(count) - 1));
}

std::vector<std::int32_t> storages_of(const JsonPlace& list, std::size_t storages) {
  return list.list([&](const JsonPlace& item) { return index_below(item, storages); });
}

/// Pairs of a storage and its version.
std::vector<TraceValue> values_of(const JsonPlace& list, std::size_t storages, std::int64_t least_version) {
  return list.list([&](const JsonPlace& item) {
    std::vector<JsonPlace> pair = item.list([](const JsonPlace& part) { return part; });
    if (pair.size() != 2) item.refuse("expected a storage and its version, got {} items", pair.size());
    return TraceValue{index_below(pair[0], storages),
                      static_cast<std::int32_t>(pair[1].integer(least_version, kMostVersion))};
  });
}

/// The first algorithm that ran: a failed one is below 0.
double first_time(const JsonPlace& list) {
  for (double ms : list.list([](const JsonPlace& item) { return item.real(kFailed, kMostMs); })) {
    if (ms >= 0) return ms;
  }
  return 0;
}

/// Storages are made once and used after that.
void check_lives(const Trace& trace, const std::string& file) {
  std::vector<bool> made(trace.bytes.size(), false);
  for (std::size_t t = 0; t < trace.ops.size(); ++t) {
    const TraceOp& op = trace.ops[t];
    auto refuse = [&](std::int32_t s, const char* got) {
      fail(ErrorKind::user, "[bench] {}, ops[{}]: expected storage {} to be made once, before it is used; it is {}.",
           file, t, s, got);
    };
    for (std::int32_t s : op.made) {
      if (made[s]) refuse(s, "made again");
      made[s] = true;
    }
    for (const auto* values : {&op.reads, &op.writes}) {
      for (const TraceValue& value : *values) {
        if (!made[value.storage]) refuse(value.storage, "used here before");
      }
    }
    for (std::int32_t s : op.freed) {
      if (!made[s]) refuse(s, "freed here before");
    }
  }
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

Trace read_dtr_trace(const std::filesystem::path& path) {
  Json json = read_json(path);
  JsonPlace file(json, "bench", path.string());
  Trace trace;
  trace.name = file.at("model").text();
  trace.bytes = file.at("storage_bytes")
                    .list([](const JsonPlace& item) { return item.integer(0, kMostStorageBytes); }, kMostStorages);
  std::size_t storages = trace.bytes.size();
  trace.ops = file.at("ops").list(
      [&](const JsonPlace& line) {
        TraceOp op;
        std::string name = line.at("op").text();
        op.time_ns = line.at("t_ns").integer(0, kMostNs);
        op.backward = line.at("bwd").flag();
        op.constant = name == "constant";
        trace.marked = trace.marked || name == "#BACKWARD";
        op.reads = values_of(line.at("read"), storages, 0);
        op.writes = values_of(line.at("write"), storages, 1);
        op.made = storages_of(line.at("alloc"), storages);
        op.freed = storages_of(line.at("free"), storages);
        return op;
      },
      kMostOps);
  check_lives(trace, path.string());
  return trace;
}

Trace read_monet_graph(const std::filesystem::path& path) {
  Json json = read_json(path);
  JsonPlace file(json, "bench", path.string());
  Trace trace;
  trace.name = file.at("mode").text();
  trace.ops = file.at("nodes").list(
      [&](const JsonPlace& node) {
        TraceOp op;
        op.backward = node.at("kind").text() == "BwdNode";
        std::size_t storage = trace.bytes.size();
        trace.bytes.push_back(node.has("mem") ? node.at("mem").integer(0, kMostStorageBytes) : 0);
        op.made = {static_cast<std::int32_t>(storage)};
        if (node.has("workspace_compute")) op.time_ns = std::llround(first_time(node.at("workspace_compute")) * 1e6);
        if (node.has("args")) {
          // A node reads what nodes before it made.
          for (const auto& group : node.at("args").list([&](const JsonPlace& g) { return storages_of(g, storage); })) {
            for (std::int32_t arg : group) op.reads.push_back({arg, 0});
          }
        }
        op.own_bytes = node.has("fixed_mem") ? node.at("fixed_mem").integer(0, kMostStorageBytes) : 0;
        if (node.has("workspace_mem")) {
          auto mebibytes =
              node.at("workspace_mem").list([](const JsonPlace& m) { return m.real(kFailed, kMostMebibytes); });
          if (!mebibytes.empty()) op.own_bytes += std::max<std::int64_t>(0, std::llround(mebibytes[0] * 1048576));
        }
        return op;
      },
      kMostOps);
  free_after_last_read(trace);
  return trace;
}

}  // namespace reprise::bench
