#include "recompute/contract_diff.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "core/text.h"

namespace reprise {

namespace {

using Lines = std::vector<std::string>;

/// Differences of one segment by kind: the first few of each are shown.
class SegmentDiff {
 public:
  SegmentDiff(const ReplayContract& a, const ReplayContract& b, std::size_t most, bool with_context)
      : a_(a), b_(b), most_(most) {
    options();
    nodes();
    reads();
    draws();
    kept();
    effects();
    if (with_context) context();
  }

  Lines take() { return std::move(lines_); }

 private:
  void list(const Lines& found, const char* plural, std::size_t most) {
    for (std::size_t i = 0; i < std::min(found.size(), most); ++i) lines_.push_back("  " + found[i]);
    if (found.size() > most) lines_.push_back(fmt::format("  ... and {} more {}", found.size() - most, plural));
  }
  void list(const Lines& found, const char* plural) { list(found, plural, most_); }
  /// Pairs items that have the same key, in order; calls differ(a, b, lines) for pairs that are not equal.
  template <class T, class Key, class Name, class Differ>
  void match(const std::vector<T>& a, const std::vector<T>& b, const char* what, const char* plural, Key&& key,
             Name&& name, Differ&& differ) {
    std::map<std::string, std::vector<const T*>> left;
    for (const T& item : a) left[key(item)].push_back(&item);
    std::map<std::string, std::size_t> next;
    Lines removed, added, changed;
    for (const T& item : b) {
      auto& list = left[key(item)];
      std::size_t& at = next[key(item)];
      if (at >= list.size())
        added.push_back(fmt::format("{} added: {}", what, name(item)));
      else if (const T& before = *list[at++]; !(before == item))
        differ(before, item, changed);
    }
    std::map<std::string, std::size_t> seen;
    for (const T& item : a) {
      if (seen[key(item)]++ >= next[key(item)]) removed.push_back(fmt::format("{} removed: {}", what, name(item)));
    }
    list(removed, (std::string(plural) + " removed").c_str());
    list(added, (std::string(plural) + " added").c_str());
    list(changed, (std::string("changes of ") + plural).c_str());
  }

  void options();
  void nodes();
  void node_differs(const ContractNode& a, const ContractNode& b, Lines& changed, Lines& shapes);
  void align();
  void reads();
  void draws();
  void kept();
  void effects();
  void context();

  const ReplayContract &a_, &b_;
  std::size_t most_;
  Lines lines_;
  std::vector<std::int64_t> partner_;  // of b's nodes: the node of a, or -1
};

std::string option_text(const ReplayContract& c) { return fmt::format("{}, state {}", c.values, c.state); }

void SegmentDiff::options() {
  if (a_.values != b_.values || a_.state != b_.state)
    lines_.push_back(fmt::format("  option: {} -> {}", option_text(a_), option_text(b_)));
}

constexpr std::size_t kMostPairs = 16'000'000;  // of nodes: a table of 64 MB

/// Nodes of the same op are partners, in the longest common sequence; a pair of very long segments is matched by place.
void SegmentDiff::align() {
  std::size_t n = a_.nodes.size(), m = b_.nodes.size();
  partner_.assign(m, -1);
  if (n * m > kMostPairs) {
    for (std::size_t j = 0; j < std::min(n, m); ++j)
      partner_[j] = a_.nodes[j].op == b_.nodes[j].op ? static_cast<std::int64_t>(j) : -1;
    return;
  }
  std::vector<std::uint32_t> longest((n + 1) * (m + 1), 0);
  auto at = [&](std::size_t i, std::size_t j) -> std::uint32_t& { return longest[i * (m + 1) + j]; };
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = m; j-- > 0;) {
      at(i, j) = a_.nodes[i].op == b_.nodes[j].op ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
    }
  }
  for (std::size_t i = 0, j = 0; i < n && j < m;) {
    if (a_.nodes[i].op == b_.nodes[j].op)
      partner_[j++] = static_cast<std::int64_t>(i++);
    else if (at(i + 1, j) >= at(i, j + 1))
      ++i;
    else
      ++j;
  }
}

void SegmentDiff::node_differs(const ContractNode& a, const ContractNode& b, Lines& changed, Lines& shapes) {
  auto pair_lists = [&](const Lines& x, const Lines& y, const char* what, Lines& changed) {
    if (x == y) return;
    if (x.size() != y.size()) {
      changed.push_back(
          fmt::format("node #{} {}: {} {} -> {}", b.number, b.op, what, fmt::join(x, ", "), fmt::join(y, ", ")));
      return;
    }
    Lines from, to;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] != y[i]) from.push_back(x[i]), to.push_back(y[i]);
    }
    changed.push_back(
        fmt::format("node #{} {}: {} {} -> {}", b.number, b.op, what, fmt::join(from, ", "), fmt::join(to, ", ")));
  };
  pair_lists(a.attrs, b.attrs, "attribute", changed);
  pair_lists(a.results, b.results, "result", shapes);
  if (a.number == b.number) pair_lists(a.operands, b.operands, "operand", changed);
  if (a.kernel != b.kernel) {
    changed.push_back(fmt::format("node #{} {}: kernel {} -> {}", b.number, b.op, a.kernel, b.kernel));
  }
  if (a.needed != b.needed) {
    changed.push_back(fmt::format("node #{} {}: {}", b.number, b.op,
                                  b.needed ? "now runs again in a replay: " + b.why : "no longer runs in a replay"));
  }
}

void SegmentDiff::nodes() {
  align();
  std::vector<bool> used(a_.nodes.size(), false);
  Lines removed, added, changed, shapes;
  for (std::size_t j = 0; j < b_.nodes.size(); ++j) {
    if (partner_[j] < 0) {
      added.push_back(fmt::format("node added: #{} {}", b_.nodes[j].number, b_.nodes[j].op));
      continue;
    }
    auto i = static_cast<std::size_t>(partner_[j]);
    used[i] = true;
    node_differs(a_.nodes[i], b_.nodes[j], changed, shapes);
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) removed.push_back(fmt::format("node removed: #{} {}", a_.nodes[i].number, a_.nodes[i].op));
  }
  list(removed, "nodes removed");
  list(added, "nodes added");
  list(changed, "changes of nodes");
  list(shapes, "results of another shape", std::max<std::size_t>(most_ / 4, 1));  // one usually changes all that follow
}

std::string owed_text(const ContractRead& r) {
  return r.for_replay && r.for_formula ? "replay and backward" : r.for_replay ? "replay" : "backward";
}

void SegmentDiff::reads() {
  auto key = [](const ContractRead& r) {
    return r.kind + "\n" + (r.kind == "value" ? "" : r.storage) + "\n" + r.operand;
  };
  auto name = [](const ContractRead& r) {
    return fmt::format("{} {} bytes {} as operand {} of #{}, owed for its {}", r.kind, r.storage, describe(r.region),
                       r.operand, r.node, owed_text(r));
  };
  match(a_.reads, b_.reads, "read", "reads", key, name,
        [](const ContractRead& x, const ContractRead& y, Lines& changed) {
          std::string where = fmt::format("read of {} {} by #{}", y.kind, y.storage, y.node);
          if (!(x.region == y.region))
            changed.push_back(fmt::format("{}: region {} -> {}", where, describe(x.region), describe(y.region)));
          if (x.version != y.version)
            changed.push_back(fmt::format("{}: version {} -> {}", where, x.version, y.version));
          if (!(x.writer == y.writer) && (y.kind != "value" || x.writer.op != y.writer.op)) {
            changed.push_back(fmt::format("{}: last writer {} -> {}", where, describe(x.writer), describe(y.writer)));
          }
          if (x.dtype != y.dtype) changed.push_back(fmt::format("{}: dtype {} -> {}", where, x.dtype, y.dtype));
          if (owed_text(x) != owed_text(y))
            changed.push_back(fmt::format("{}: owed for its {} -> {}", where, owed_text(x), owed_text(y)));
        });
}

void SegmentDiff::draws() {
  auto key = [](const ContractDraw& d) { return std::to_string(d.stream); };
  auto name = [](const ContractDraw& d) {
    return fmt::format("{} numbers of stream {:016x} (seed {}) from position {} by #{}", d.count, d.stream, d.seed,
                       d.position, d.node);
  };
  match(a_.draws, b_.draws, "draw", "draws", key, name,
        [&](const ContractDraw& x, const ContractDraw& y, Lines& changed) {
          ContractDraw moved = x;
          moved.node = y.node;
          if (!(moved == y)) changed.push_back(fmt::format("draw: {} -> {}", name(x), name(y)));
        });
}

std::string holders_text(const KeptValue& k) {
  Lines words;
  if (k.decision) words.emplace_back("as a decision");
  if (k.formula) words.emplace_back("for a backward");
  if (k.replay) words.emplace_back("for a replay");
  if (k.handle) words.emplace_back("by the program's handle");
  return fmt::format("{}", fmt::join(words, " and "));
}

void SegmentDiff::kept() {
  auto key = [](const KeptValue& k) { return k.op; };
  auto name = [](const KeptValue& k) {
    return fmt::format("{} {} ({}, {} B), kept {}", k.value, k.op, k.type, k.bytes, holders_text(k));
  };
  match(a_.kept, b_.kept, "kept value", "kept values", key, name,
        [](const KeptValue& x, const KeptValue& y, Lines& changed) {
          if (x.bytes != y.bytes)
            changed.push_back(fmt::format("kept value {} {}: {} B -> {} B", y.value, y.op, x.bytes, y.bytes));
          if (holders_text(x) != holders_text(y)) {
            changed.push_back(
                fmt::format("kept value {} {}: kept {} -> {}", y.value, y.op, holders_text(x), holders_text(y)));
          }
        });
}

void SegmentDiff::effects() {
  auto key = [](const ContractEffect& e) { return e.what + "\n" + e.op + "\n" + e.storage; };
  auto name = [](const ContractEffect& e) {
    if (e.what != "write") return fmt::format("{} by #{} {}", e.what, e.node, e.op);
    return fmt::format("write of {} bytes {} by #{} {}", e.storage, describe(e.region), e.node, e.op);
  };
  match(a_.effects, b_.effects, "effect", "effects", key, name,
        [](const ContractEffect& x, const ContractEffect& y, Lines& changed) {
          if (!(x.region == y.region)) {
            changed.push_back(fmt::format("write of {} by #{} {}: region {} -> {}", y.storage, y.node, y.op,
                                          describe(x.region), describe(y.region)));
          }
        });
}

void SegmentDiff::context() {
  auto key = [](const ContextEntry& e) { return e.key; };
  auto name = [](const ContextEntry& e) { return e.key + " = " + e.value; };
  match(a_.context, b_.context, "context", "context keys", key, name,
        [](const ContextEntry& x, const ContextEntry& y, Lines& changed) {
          changed.push_back(fmt::format("context {}: {} -> {}", y.key, x.value, y.value));
        });
}

void diff_build(const ContractDocument& a, const ContractDocument& b, Lines& lines) {
  if (a.version != b.version) lines.push_back(fmt::format("build: version {} -> {}", a.version, b.version));
  std::map<std::string, std::string> before;
  for (const auto& op : a.ops) before[op.name] = op.fingerprint;
  for (const auto& op : b.ops) {
    auto at = before.find(op.name);
    if (at == before.end())
      lines.push_back(fmt::format("op {}: now used", op.name));
    else if (at->second != op.fingerprint)
      lines.push_back(fmt::format("op {}: its contract differs ({} -> {})", op.name, at->second, op.fingerprint));
    before.erase(op.name);
  }
  for (const auto& [name, hash] : before) lines.push_back(fmt::format("op {}: no longer used", name));
  if (a.build_fingerprint != b.build_fingerprint) {
    lines.push_back(fmt::format("build: fingerprint {} -> {} (version, or contracts of ops, used or not)",
                                a.build_fingerprint, b.build_fingerprint));
  }
}

void diff_config(const ContractDocument& a, const ContractDocument& b, Lines& lines) {
  std::map<std::string, std::string> before(a.config.begin(), a.config.end());
  for (const auto& [key, value] : b.config) {
    auto at = before.find(key);
    if (at == before.end())
      lines.push_back(fmt::format("config {}: now {}", key, value));
    else if (at->second != value)
      lines.push_back(fmt::format("config {}: {} -> {}", key, at->second, value));
    before.erase(key);
  }
  for (const auto& [key, value] : before)
    lines.push_back(fmt::format("config {}: no longer there (was {})", key, value));
}

/// Changes of the context are the same in all segments, as a rule; then they are said once.
bool diff_common_context(const ContractDocument& a, const ContractDocument& b, Lines& lines) {
  auto same_everywhere = [](const ContractDocument& d) {
    return !d.contracts.empty() && std::all_of(d.contracts.begin(), d.contracts.end(), [&](const ReplayContract& c) {
      return c.context == d.contracts[0].context;
    });
  };
  if (!same_everywhere(a) || !same_everywhere(b)) return false;
  std::map<std::string, std::string> before;
  for (const ContextEntry& entry : a.contracts[0].context) before[entry.key] = entry.value;
  for (const ContextEntry& entry : b.contracts[0].context) {
    auto at = before.find(entry.key);
    if (at == before.end())
      lines.push_back(fmt::format("context {}: now {}", entry.key, entry.value));
    else if (at->second != entry.value)
      lines.push_back(fmt::format("context {}: {} -> {}", entry.key, at->second, entry.value));
    before.erase(entry.key);
  }
  for (const auto& [key, value] : before)
    lines.push_back(fmt::format("context {}: no longer there (was {})", key, value));
  return true;
}

std::string segment_title(const ReplayContract& c) {
  return c.micro_batch > 0 ? fmt::format("segment {} of micro-batch {}", c.segment, c.micro_batch + 1)
                           : "segment " + c.segment;
}

}  // namespace

std::vector<std::string> diff_contracts(const ContractDocument& a, const ContractDocument& b, std::size_t most) {
  Lines lines;
  diff_build(a, b, lines);
  diff_config(a, b, lines);
  bool common = diff_common_context(a, b, lines);
  std::map<std::string, const ReplayContract*> before;
  for (const ReplayContract& contract : a.contracts) before.emplace(segment_title(contract), &contract);
  for (const ReplayContract& contract : b.contracts) {
    auto at = before.find(segment_title(contract));
    if (at == before.end()) {
      lines.push_back(fmt::format("{} added: {}, {}, {}", segment_title(contract), option_text(contract),
                                  counted(std::ssize(contract.nodes), "node"),
                                  counted(std::ssize(contract.reads), "read")));
      continue;
    }
    ReplayContract was = *at->second;
    if (common) was.context = contract.context;
    if (!(was == contract)) {
      Lines found = SegmentDiff(was, contract, most, !common).take();
      lines.push_back(segment_title(contract) + ":" + (found.empty() ? " labels or reasons differ" : ""));
      lines.insert(lines.end(), found.begin(), found.end());
    }
    before.erase(at);
  }
  for (const ReplayContract& contract : a.contracts) {
    if (before.erase(segment_title(contract)))
      lines.push_back(
          fmt::format("{} removed: it had {}", segment_title(contract), counted(std::ssize(contract.nodes), "node")));
  }
  return lines;
}

}  // namespace reprise
