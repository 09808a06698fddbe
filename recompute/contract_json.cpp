#include "recompute/contract_json.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "recompute/fingerprint.h"
#include "recompute/json_place.h"

namespace reprise {

namespace {

using Json = nlohmann::ordered_json;

// ---- writing

Json write(const RegionSummary& r) {
  return {{"bytes", r.bytes}, {"runs", r.runs}, {"begin", r.begin}, {"end", r.end}, {"hash", r.hash}};
}

Json write(const ContractNode& n) {
  return {{"number", n.number},   {"op", n.op},         {"label", n.label},
          {"kernel", n.kernel},   {"attrs", n.attrs},   {"operands", n.operands},
          {"results", n.results}, {"needed", n.needed}, {"why", n.why}};
}

Json write(const ContractRead& r) {
  Json writer = {{"op", r.writer.op}, {"node", r.writer.node}};
  return {{"node", r.node},         {"operand", r.operand},      {"kind", r.kind},       {"storage", r.storage},
          {"dtype", r.dtype},       {"region", write(r.region)}, {"version", r.version}, {"writer", std::move(writer)},
          {"replay", r.for_replay}, {"formula", r.for_formula}};
}

Json write(const ContractDraw& d) {
  return {{"node", d.node}, {"seed", d.seed}, {"stream", d.stream}, {"position", d.position}, {"count", d.count}};
}

Json write(const KeptValue& k) {
  return {{"value", k.value},       {"op", k.op},           {"type", k.type},     {"bytes", k.bytes},
          {"decision", k.decision}, {"formula", k.formula}, {"replay", k.replay}, {"handle", k.handle}};
}

Json write(const ContractEffect& e) {
  return {{"node", e.node}, {"op", e.op}, {"what", e.what}, {"storage", e.storage}, {"region", write(e.region)}};
}

template <class T>
Json write_list(const std::vector<T>& list) {
  Json out = Json::array();
  for (const T& item : list) out.push_back(write(item));
  return out;
}

/// Without its fingerprint, which is of just this.
Json write_body(const ReplayContract& c) {
  Json context = Json::object();
  for (const ContextEntry& entry : c.context) context[entry.key] = entry.value;
  return {{"segment", c.segment},
          {"micro_batch", c.micro_batch},
          {"values", c.values},
          {"state", c.state},
          {"nodes", write_list(c.nodes)},
          {"reads", write_list(c.reads)},
          {"draws", write_list(c.draws)},
          {"kept", write_list(c.kept)},
          {"effects", write_list(c.effects)},
          {"context", std::move(context)}};
}

/// Names may hold any bytes; those that are no UTF-8 are replaced.
std::string dump(const Json& json, int indent) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }

std::string contracts_fingerprint(const std::vector<ReplayContract>& contracts) {
  std::string all;
  for (const ReplayContract& contract : contracts) all += contract_fingerprint(contract);
  return fingerprint(all);
}

// ---- reading

using Place = JsonPlace;

RegionSummary read_region(const Place& p) {
  p.object({"bytes", "runs", "begin", "end", "hash"});
  return {p.at("bytes").count(), p.at("runs").count(), p.at("begin").count(), p.at("end").count(), p.at("hash").text()};
}

LastWriter read_writer(const Place& p) {
  p.object({"op", "node"});
  return {p.at("op").text(), p.at("node").text()};
}

ContractNode read_node(const Place& p) {
  p.object({"number", "op", "label", "kernel", "attrs", "operands", "results", "needed", "why"});
  return {p.at("number").count(),  p.at("op").text(),     p.at("label").text(),
          p.at("kernel").text(),   p.at("attrs").texts(), p.at("operands").texts(),
          p.at("results").texts(), p.at("needed").flag(), p.at("why").text()};
}

ContractRead read_read(const Place& p) {
  p.object({"node", "operand", "kind", "storage", "dtype", "region", "version", "writer", "replay", "formula"});
  return {p.at("node").count(),    p.at("operand").text(),      p.at("kind").one_of({"leaf", "state", "value"}),
          p.at("storage").text(),  p.at("dtype").text(),        read_region(p.at("region")),
          p.at("version").count(), read_writer(p.at("writer")), p.at("replay").flag(),
          p.at("formula").flag()};
}

ContractDraw read_draw(const Place& p) {
  p.object({"node", "seed", "stream", "position", "count"});
  return {p.at("node").count(), p.at("seed").natural(), p.at("stream").natural(), p.at("position").natural(),
          p.at("count").natural()};
}

KeptValue read_kept(const Place& p) {
  p.object({"value", "op", "type", "bytes", "decision", "formula", "replay", "handle"});
  return {p.at("value").text(),    p.at("op").text(),      p.at("type").text(),   p.at("bytes").count(),
          p.at("decision").flag(), p.at("formula").flag(), p.at("replay").flag(), p.at("handle").flag()};
}

ContractEffect read_effect(const Place& p) {
  p.object({"node", "op", "what", "storage", "region"});
  return {p.at("node").count(), p.at("op").text(), p.at("what").one_of({"write", "draw", "outside"}),
          p.at("storage").text(), read_region(p.at("region"))};
}

ReplayContract read_contract(const Place& p) {
  p.object({"segment", "micro_batch", "values", "state", "fingerprint", "nodes", "reads", "draws", "kept", "effects",
            "context"});
  ReplayContract c;
  c.segment = p.at("segment").text();
  c.micro_batch = p.at("micro_batch").count();
  c.values = p.at("values").one_of({"retain", "replay"});
  c.state = p.at("state").one_of({"whole", "region"});
  c.nodes = p.at("nodes").list(read_node);
  c.reads = p.at("reads").list(read_read);
  c.draws = p.at("draws").list(read_draw);
  c.kept = p.at("kept").list(read_kept);
  c.effects = p.at("effects").list(read_effect);
  for (auto& [key, value] : p.at("context").pairs()) c.context.push_back({key, value});
  for (std::size_t i = 0; i < c.nodes.size(); ++i) {
    if (c.nodes[i].number != static_cast<std::int64_t>(i))
      p.at("nodes").refuse("expected node {} at place {}, got {}", i, i, c.nodes[i].number);
  }
  std::string expected = p.at("fingerprint").text(), found = contract_fingerprint(c);
  if (expected != found)
    p.refuse("expected contents of fingerprint {}, got {}. It was changed after it was written", expected.substr(0, 16),
             found);
  return c;
}

}  // namespace

std::string trace_fingerprint(const std::vector<ReplayContract>& contracts) {
  Json all = Json::array();
  for (const ReplayContract& c : contracts) {
    all.push_back(c.segment);
    for (const ContractNode& n : c.nodes) all.push_back({n.op, n.attrs, n.operands, n.results});
  }
  return fingerprint(dump(all, -1));
}

std::string contract_fingerprint(const ReplayContract& contract) { return fingerprint(dump(write_body(contract), -1)); }

ContractDocument make_document(std::vector<ReplayContract> contracts,
                               std::vector<std::pair<std::string, std::string>> config) {
  ContractDocument document;
  document.version = build_version();
  document.build_fingerprint = build_fingerprint();
  std::set<std::string> used;
  for (const ReplayContract& contract : contracts) {
    for (const ContractNode& node : contract.nodes) used.insert(node.op);
  }
  for (const std::string& name : used) {
    const Op* op = find_op(name);
    document.ops.push_back({name, op ? fingerprint(contract_text(*op)) : ""});
  }
  document.trace_fingerprint = trace_fingerprint(contracts);
  document.contracts_fingerprint = contracts_fingerprint(contracts);
  document.config = std::move(config);
  document.contracts = std::move(contracts);
  return document;
}

std::string to_json(const ContractDocument& document) {
  Json json;
  json["format"] = kContractFormat;
  Json ops = Json::array();
  for (const auto& op : document.ops) ops.push_back({{"name", op.name}, {"fingerprint", op.fingerprint}});
  json["build"] = {{"version", document.version}, {"fingerprint", document.build_fingerprint}, {"ops", std::move(ops)}};
  json["fingerprints"] = {{"trace", document.trace_fingerprint}, {"contracts", document.contracts_fingerprint}};
  json["config"] = Json::object();
  for (const auto& [key, value] : document.config) json["config"][key] = value;
  json["contracts"] = Json::array();
  for (const ReplayContract& contract : document.contracts) {
    Json body = write_body(contract), whole = Json::object();
    for (auto& [key, value] : body.items()) {
      if (key == "nodes") whole["fingerprint"] = contract_fingerprint(contract);
      whole[key] = std::move(value);
    }
    json["contracts"].push_back(std::move(whole));
  }
  return dump(json, 1) + "\n";
}

ContractDocument parse_contracts(const std::string& text, const std::string& source) {
  Json json = parse_document(text, "contract", source, kContractFormat, "reprise contract");
  Place root(json, "contract", source);
  root.object({"format", "build", "fingerprints", "config", "contracts"});
  ContractDocument document;
  Place build = root.at("build");
  build.object({"version", "fingerprint", "ops"});
  document.version = build.at("version").text();
  document.build_fingerprint = build.at("fingerprint").text();
  document.ops = build.at("ops").list([](const Place& p) {
    p.object({"name", "fingerprint"});
    return ContractDocument::UsedOp{p.at("name").text(), p.at("fingerprint").text()};
  });
  Place fingerprints = root.at("fingerprints");
  fingerprints.object({"trace", "contracts"});
  document.trace_fingerprint = fingerprints.at("trace").text();
  document.contracts_fingerprint = fingerprints.at("contracts").text();
  document.config = root.at("config").pairs();
  document.contracts = root.at("contracts").list(read_contract);
  std::set<std::string> ops;
  for (const auto& op : document.ops) {
    if (!ops.insert(op.name).second) build.at("ops").refuse("the op '{}' stands twice", shown_part(op.name));
  }
  std::set<std::pair<std::int64_t, std::string>> segments;
  for (const ReplayContract& c : document.contracts) {
    if (!segments.insert({c.micro_batch, c.segment}).second)
      root.at("contracts").refuse("the segment '{}' stands twice in one micro-batch", shown_part(c.segment));
  }
  std::string trace = trace_fingerprint(document.contracts), all = contracts_fingerprint(document.contracts);
  if (document.trace_fingerprint != trace || document.contracts_fingerprint != all) {
    fingerprints.refuse(
        "expected those of the contracts below, trace {} and contracts {}, got others. "
        "It was changed after it was written",
        trace, all);
  }
  return document;
}

}  // namespace reprise
