// The contract document: replay contracts of one step with fingerprints, as JSON that is the same bytes for the same
// step, build and machine settings. Written by `reprise contract`, compared by `reprise contract --diff`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "recompute/contract.h"

namespace reprise {

// Note on the schema "reprise-contract/1". Keys in this order:
//   format        "reprise-contract/1"
//   build         {version, fingerprint: of version and all ops' contracts,
//                  ops: [{name, fingerprint}] of the ops that the trace uses, by name}
//   fingerprints  {trace: of all nodes, contracts: of all of `contracts`}
//   config        {key: value as text}: the keys of the run that shape a step
//   contracts     one object per segment instance in forward order, implicit ones ("(outside)") included:
//     segment     id: name, "/2" for its second instance, ...
//     micro_batch place in the step, from 0
//     values      "retain" | "replay"
//     state       "whole" | "region"
//     fingerprint of this contract without this key
//     nodes       [{number, op, label, kernel, attrs: ["name=value"], operands: [names], results: ["f32[2, 3]"],
//                 needed: whether a replay runs it, why}]
//     reads       what is owed to this segment: [{node, operand, kind "leaf" | "state" | "value", storage, dtype,
//                 region: {bytes, runs, begin, end, hash of all runs}, version: writes of the storage before the
//                 read, writer: {op, node} who made that version (both "" for nobody, node "" for before this
//                 forward), replay, formula: what it is owed for}]
//     draws       [{node, seed, stream, position, count}]
//     kept        [{value, op, type, bytes, decision, formula, replay, handle}]: bytes kept, and for whom
//     effects     [{node, op, what "write" | "draw" | "outside", storage, region}]
//     context     {key: value}
// Names and numbers are those of recompute/contract.h. Hashes are 16 hexadecimal digits of XXH3.

inline constexpr const char* kContractFormat = "reprise-contract/1";

struct ContractDocument {
  struct UsedOp {
    std::string name, fingerprint;
    friend bool operator==(const UsedOp&, const UsedOp&) = default;
  };
  std::string version, build_fingerprint;
  std::vector<UsedOp> ops;
  std::string trace_fingerprint, contracts_fingerprint;
  std::vector<std::pair<std::string, std::string>> config;
  std::vector<ReplayContract> contracts;
};

/// Completes the document with this build's data and all fingerprints.
ContractDocument make_document(std::vector<ReplayContract> contracts,
                               std::vector<std::pair<std::string, std::string>> config);

/// Of the nodes (ops, attributes, operands, results) of all contracts; of all that contracts say.
std::string trace_fingerprint(const std::vector<ReplayContract>& contracts);
std::string contract_fingerprint(const ReplayContract& contract);

/// Ends in a line end.
std::string to_json(const ContractDocument& document);

/// Reads a document; `source` names it in errors. Errors (user): no JSON, another format, a key that is missing,
/// unknown or of another type (with its path), or contents that differ from their fingerprint.
ContractDocument parse_contracts(const std::string& text, const std::string& source);

}  // namespace reprise
