#include "recompute/fingerprint.h"

#include <fmt/core.h>

#include "core/byte_hash.h"

namespace reprise {

std::string fingerprint(std::string_view bytes) { return hash_text(hash_bytes(bytes)); }

namespace {

void add_names(std::string& text, const char* what, const std::vector<const char*>& names) {
  text += what;
  for (const char* name : names) text += ' ', text += name;
  text += ';';
}

void add_pairs(std::string& text, const char* what, const std::vector<Reuse>& pairs) {
  text += what;
  for (const Reuse& pair : pairs) text += fmt::format(" {}>{}", pair.from, pair.to);
  text += ';';
}

}  // namespace

std::string contract_text(const Op& op) {
  std::string text = std::string(op.name) + ':';
  add_names(text, "inputs", op.inputs);
  add_names(text, "updates", op.updates);
  add_names(text, "outputs", op.outputs);
  add_names(text, "made", op.made);
  add_names(text, "decisions", op.decisions);
  add_names(text, "keeps", op.keeps);
  for (const AttrSpec& attr : op.attrs) text += fmt::format("attr {} {};", attr.name, static_cast<int>(attr.kind));
  for (const SaveRule& rule : op.saves) {
    text += fmt::format("save {}", rule.wanted);
    for (const Saved& saved : rule.needs)
      text += fmt::format(" {}{}", saved.from == Saved::From::operand ? "<" : ">", saved.name);
    text += ';';
  }
  add_pairs(text, "reuse", op.reuse);
  add_pairs(text, "grad_reuse", op.grad_reuse);
  for (const SavedReuse& each : op.saved_reuse) {
    text += fmt::format("saved_reuse {}{}>{};", each.from.from == Saved::From::operand ? "<" : ">", each.from.name,
                        each.to);
  }
  add_pairs(text, "passes", op.passes);
  for (bool flag : {op.variadic, op.strided, op.view, op.draws, op.nondeterministic, op.effect, op.accumulates,
                    op.fails_first, op.outputs_ignore_updates, op.replays_from_keeps, op.region != nullptr}) {
    text += flag ? '1' : '0';
  }
  return text;
}

const char* build_version() { return REPRISE_VERSION; }

std::string build_fingerprint() {
  std::string text = build_version();
  for (const Op* op : registered_ops()) text += '\n' + contract_text(*op);
  return fingerprint(text);
}

}  // namespace reprise
