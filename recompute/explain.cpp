#include "recompute/explain.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "core/text.h"

namespace reprise {

namespace {

using Row = std::vector<std::string>;
using Json = nlohmann::ordered_json;

std::string bytes_or_dash(std::int64_t bytes) { return bytes == 0 ? "-" : short_bytes(bytes); }
std::string count_or_dash(std::int64_t count) { return count == 0 ? "-" : std::to_string(count); }

}  // namespace

SegmentFigures figures_of(const ReplayContract& contract, const std::vector<PreservedObject>& preserved) {
  SegmentFigures f;
  f.nodes = static_cast<std::int64_t>(contract.nodes.size());
  f.replayed = contract.needed_count();
  f.reads = static_cast<std::int64_t>(contract.reads.size());
  for (const KeptValue& kept : contract.kept) {
    std::string_view holder = kept.holder();
    std::int64_t& sum = holder == "decision"  ? f.kept_decision
                        : holder == "formula" ? f.kept_formula
                        : holder == "replay"  ? f.kept_replay
                                              : f.kept_handle;
    sum += kept.bytes;
  }
  for (const PreservedObject& object : preserved) {
    bool owes = std::find(object.segments.begin(), object.segments.end(), contract.segment) != object.segments.end();
    if (owes) f.preserved += object.charged_bytes;
  }
  return f;
}

SegmentFigures totals_of(const ContractSet& set) {
  SegmentFigures sum;
  for (const ReplayContract& contract : set.contracts) {
    SegmentFigures f = figures_of(contract, {});
    sum.nodes += f.nodes;
    sum.replayed += f.replayed;
    sum.reads += f.reads;
    sum.kept_formula += f.kept_formula;
    sum.kept_replay += f.kept_replay;
    sum.kept_decision += f.kept_decision;
    sum.kept_handle += f.kept_handle;
  }
  for (const PreservedObject& object : set.preserved) sum.preserved += object.charged_bytes;
  return sum;
}

namespace {

std::string option_of(const ReplayContract& c) { return c.replayed() ? c.state : "retain"; }

Row figure_row(const std::string& name, const std::string& option, const SegmentFigures& f, bool replayed) {
  return {name,
          option,
          std::to_string(f.nodes),
          replayed ? std::to_string(f.replayed) : "-",
          replayed ? count_or_dash(f.nodes - f.replayed) : "-",
          bytes_or_dash(f.kept_formula),
          bytes_or_dash(f.kept_replay),
          bytes_or_dash(f.kept_decision),
          bytes_or_dash(f.kept_handle),
          count_or_dash(f.reads),
          bytes_or_dash(f.preserved)};
}

std::string segment_table(const ContractSet& set) {
  std::vector<Row> rows{{"segment", "option", "nodes", "replayed", "fall away", "for backward", "for replay",
                         "decisions", "handles", "owes", "preserved"}};
  SegmentFigures sum = totals_of(set);
  std::int64_t nodes_of_replayed = 0;
  for (const ReplayContract& contract : set.contracts) {
    rows.push_back(
        figure_row(contract.segment, option_of(contract), figures_of(contract, set.preserved), contract.replayed()));
    if (contract.replayed()) nodes_of_replayed += static_cast<std::int64_t>(contract.nodes.size());
  }
  Row total = figure_row("total", "", sum, nodes_of_replayed > 0);
  if (nodes_of_replayed > 0) total[4] = count_or_dash(nodes_of_replayed - sum.replayed);
  rows.push_back(std::move(total));
  std::vector<bool> right(rows[0].size(), true);
  right[0] = right[1] = false;
  return format_table(rows, right);
}

std::string preserved_table(const ContractSet& set) {
  if (set.preserved.empty()) return "Nothing is preserved: no write of the forward touches bytes that are owed.\n";
  std::vector<Row> rows{
      {"storage", "kept as", "data", "row list", "rounding", "charged", "because of the write by", "reads", "owed by"}};
  std::int64_t data = 0, lists = 0, charged = 0, shared = 0;
  for (const PreservedObject& o : set.preserved) {
    rows.push_back({o.storage, o.whole ? "copy" : "block", short_bytes(o.data_bytes), bytes_or_dash(o.row_list_bytes),
                    bytes_or_dash(o.charged_bytes - o.data_bytes - o.row_list_bytes), short_bytes(o.charged_bytes),
                    describe(o.killer), std::to_string(o.reads), fmt::format("{}", fmt::join(o.segments, ", "))});
    data += o.data_bytes;
    lists += o.row_list_bytes;
    charged += o.charged_bytes;
    shared += o.segments.size() > 1;
  }
  std::string text =
      fmt::format("Preserved before the backward: {}, {} = data {} + row lists {} + rounding {}{}\n",
                  counted(static_cast<std::int64_t>(set.preserved.size()), "object"), short_bytes(charged),
                  short_bytes(data), short_bytes(lists), short_bytes(charged - data - lists),
                  shared ? fmt::format("; {} serve several segments, in whose rows they stand each time", shared) : "");
  return text + format_table(rows, {false, false, true, true, true, true, false, true, false});
}

/// Reads of the same bytes at the same version by several operands of one segment.
struct OwedLine {
  const ContractRead* first;
  std::string operands;
  bool for_replay = false, for_formula = false;

  bool takes(const ContractRead& r) const {
    return first->storage == r.storage && first->kind == r.kind && first->region == r.region &&
           first->version == r.version;
  }
  Row row(const std::string& segment) const {
    const ContractRead& r = *first;
    bool whole = r.region.runs <= 1 && r.region.begin == 0 && r.kind == "value";
    return {segment,
            r.kind == "value" ? "value " + r.storage : r.storage,
            operands,
            whole ? short_bytes(r.region.bytes) : describe(r.region),
            std::to_string(r.version),
            describe(r.writer),
            for_replay && for_formula ? "replay, backward"
            : for_replay              ? "replay"
                                      : "backward"};
  }
};

/// Reads that are as live as when they were made, of storages that nobody has written: the parameters, mostly.
bool quiet(const ContractRead& r, const std::set<std::string>& written) {
  return r.kind != "value" && r.version == 0 && !written.contains(r.storage);
}

std::string owed_table(const ContractSet& set, const ExplainOptions& options) {
  std::set<std::string> written;
  for (const ReplayContract& c : set.contracts) {
    for (const ContractEffect& e : c.effects) {
      if (e.what == "write") written.insert(e.storage);
    }
  }
  std::vector<Row> rows{{"segment", "storage", "read by", "bytes", "version", "written last by", "owed for"}};
  for (const ReplayContract& c : set.contracts) {
    std::vector<OwedLine> lines;
    std::int64_t folded = 0, bytes = 0;
    for (const ContractRead& r : c.reads) {
      if (!options.all_reads && quiet(r, written)) {
        ++folded;
        bytes += r.region.bytes;
        continue;
      }
      auto line = std::find_if(lines.begin(), lines.end(), [&](const OwedLine& l) { return l.takes(r); });
      if (line == lines.end()) line = lines.insert(line, OwedLine{&r, "", false, false});
      line->operands += fmt::format("{}#{} {}.{}", line->operands.empty() ? "" : ", ", r.node,
                                    c.nodes[static_cast<std::size_t>(r.node)].op, r.operand);
      line->for_replay |= r.for_replay;
      line->for_formula |= r.for_formula;
    }
    for (const OwedLine& line : lines) rows.push_back(line.row(c.segment));
    if (folded)
      rows.push_back({c.segment, fmt::format("{} of what nobody writes", counted(folded, "read")), "",
                      short_bytes(bytes), "0", "nobody", ""});
  }
  if (rows.size() == 1) return "Nothing is owed.\n";
  return std::string("Owed: what replays and backward formulas read from outside their segment") +
         (options.all_reads ? "\n" : " (--reads lists parameters too)\n") +
         format_table(rows, {false, false, false, false, true, false, false});
}

std::string peak_text(const ExplainInput& input) {
  std::string text = fmt::format("Predicted peak of a step: {} bytes ({})\n", input.step.total_peak,
                                 short_bytes(input.step.total_peak));
  if (input.budget > 0) {
    std::int64_t left = input.budget - input.step.total_peak;
    text += fmt::format("{} the budget of {} bytes ({}): {} {}\n", left >= 0 ? "Fits" : "Does not fit", input.budget,
                        short_bytes(input.budget), short_bytes(std::abs(left)), left >= 0 ? "to spare" : "too much");
  }
  std::vector<Row> rows{{"category", "at the peak", "before the step", "its own peak"}};
  for (int c = 0; c < kCategoryCount; ++c) {
    auto i = static_cast<std::size_t>(c);
    if (input.step.peak[i] == 0) continue;
    rows.push_back({to_string(static_cast<Category>(c)), bytes_or_dash(input.step.at_peak[i]),
                    bytes_or_dash(input.before.live[i]), short_bytes(input.step.peak[i])});
  }
  return text + format_table(rows, {false, true, true, true});
}

Json json_of(const LastWriter& writer) { return {{"op", writer.op}, {"node", writer.node}}; }

Json json_of(const SegmentFigures& f) {
  return {{"nodes", f.nodes},
          {"replayed", f.replayed},
          {"kept",
           {{"formula", f.kept_formula},
            {"replay", f.kept_replay},
            {"decision", f.kept_decision},
            {"handle", f.kept_handle}}},
          {"kept_bytes", f.kept()},
          {"reads", f.reads},
          {"preserved_bytes", f.preserved}};
}

Json json_of(const ReplayContract& c, const ContractSet& set) {
  Json out = {{"segment", c.segment}, {"option", option_of(c)}, {"values", c.values}, {"state", c.state}};
  out.update(json_of(figures_of(c, set.preserved)));
  out["falls_away"] = Json::array();
  for (const ContractNode& n : c.nodes) {
    if (c.replayed() && !n.needed) out["falls_away"].push_back({{"node", n.number}, {"op", n.op}, {"why", n.why}});
  }
  out["values_kept"] = Json::array();
  for (const KeptValue& k : c.kept) {
    Json holders = Json::array();
    if (k.decision) holders.push_back("decision");
    if (k.formula) holders.push_back("formula");
    if (k.replay) holders.push_back("replay");
    if (k.handle) holders.push_back("handle");
    out["values_kept"].push_back(
        {{"value", k.value}, {"op", k.op}, {"type", k.type}, {"bytes", k.bytes}, {"holders", std::move(holders)}});
  }
  out["owes"] = Json::array();
  for (const ContractRead& r : c.reads) {
    Json region = {
        {"bytes", r.region.bytes}, {"runs", r.region.runs}, {"begin", r.region.begin}, {"end", r.region.end}};
    out["owes"].push_back({{"node", r.node},
                           {"operand", r.operand},
                           {"kind", r.kind},
                           {"storage", r.storage},
                           {"region", std::move(region)},
                           {"version", r.version},
                           {"writer", json_of(r.writer)},
                           {"replay", r.for_replay},
                           {"formula", r.for_formula}});
  }
  return out;
}

Json json_of(const PreservedObject& o) {
  return {{"storage", o.storage},
          {"kept_as", o.whole ? "copy" : "block"},
          {"data_bytes", o.data_bytes},
          {"row_list_bytes", o.row_list_bytes},
          {"charged_bytes", o.charged_bytes},
          {"write", json_of(o.killer)},
          {"reads", o.reads},
          {"segments", o.segments}};
}

}  // namespace

std::string explain_text(const ExplainInput& input, const ExplainOptions& options) {
  std::string text = input.title + "\n\n";
  if (input.micro_batches.empty()) return text + peak_text(input);
  const ContractSet& first = input.micro_batches.front();
  text += "Segments: nodes that a replay runs, and bytes kept from forward to backward, by who needs them\n" +
          segment_table(first);
  for (std::size_t i = 1; i < input.micro_batches.size(); ++i) {
    SegmentFigures f = totals_of(input.micro_batches[i]);
    text += fmt::format("micro-batch {}: {}, {} replayed, kept {}, preserved {}\n", i + 1, counted(f.nodes, "node"),
                        f.replayed, short_bytes(f.kept()), short_bytes(f.preserved));
  }
  text += "\n" + preserved_table(first) + "\n" + owed_table(first, options) + "\n" + peak_text(input);
  return text;
}

std::string explain_json(const ExplainInput& input) {
  Json json = {{"format", "reprise-explain/1"}, {"title", input.title}, {"micro_batches", Json::array()}};
  for (const ContractSet& set : input.micro_batches) {
    Json one = {{"segments", Json::array()}, {"preserved", Json::array()}, {"totals", json_of(totals_of(set))}};
    for (const ReplayContract& contract : set.contracts) one["segments"].push_back(json_of(contract, set));
    for (const PreservedObject& object : set.preserved) one["preserved"].push_back(json_of(object));
    json["micro_batches"].push_back(std::move(one));
  }
  Json by_category = Json::object(), before = Json::object();
  for (int c = 0; c < kCategoryCount; ++c) {
    auto i = static_cast<std::size_t>(c);
    by_category[to_string(static_cast<Category>(c))] = input.step.at_peak[i];
    before[to_string(static_cast<Category>(c))] = input.before.live[i];
  }
  json["peak"] = {
      {"bytes", input.step.total_peak}, {"by_category", std::move(by_category)}, {"before_step", std::move(before)}};
  if (input.budget > 0) json["budget"] = {{"bytes", input.budget}, {"fits", input.step.total_peak <= input.budget}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace reprise
