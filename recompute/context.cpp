#include "recompute/context.h"

#include <algorithm>

#include "core/error.h"
#include "core/parallel.h"
#include "ops/implementation.h"
#include "ops/onednn.h"

namespace reprise {

namespace {

std::vector<ContextKey>& keys() {
  static std::vector<ContextKey> list = {
      {"threads", "threads of the pool, which split the sums of some kernels",
       [](const Tape&) { return std::to_string(thread_count()); }},
      {"onednn", "whether oneDNN runs convolutions and matrix products",
       [](const Tape&) { return std::string(onednn::refusal() ? "off" : "on"); }},
      {"isa", "the instruction set that kernels are built for",
       [](const Tape&) { return std::string(onednn::isa_name()); }},
      {"kernels", "whether only the portable kernels are allowed",
       [](const Tape&) { return std::string(PortableOnly::active() ? "portable" : "all"); }},
      {"guard", "whether ops are checked against their contracts",
       [](const Tape& tape) { return std::string(tape.guard() ? "on" : "off"); }},
  };
  return list;
}

}  // namespace

const std::vector<ContextKey>& context_keys() { return keys(); }

void register_context_key(const ContextKey& key) {
  bool taken =
      std::any_of(keys().begin(), keys().end(), [&](const ContextKey& k) { return std::string(k.name) == key.name; });
  if (taken) fail(ErrorKind::user, "[context] expected a new key, got '{}', which is registered already", key.name);
  keys().push_back(key);
}

std::string read_context(const std::string& name, const Tape& tape) {
  std::string known;
  for (const ContextKey& key : keys()) {
    if (name == key.name) return key.read(tape);
    known += (known.empty() ? "" : ", ") + std::string(key.name);
  }
  fail(ErrorKind::user,
       "[context] expected one of the keys {}, got '{}'. Register it with register_context_key() first", known, name);
}

std::vector<std::string> read_contexts(const Tape& tape) {
  std::vector<std::string> values;
  values.reserve(keys().size());
  for (const ContextKey& key : keys()) values.push_back(key.read(tape));
  return values;
}

void note_context_of(Tape& tape, std::uint32_t segment) {
  std::vector<std::string> now = read_contexts(tape);
  std::vector<std::string>& noted = tape.data().segments[segment].context;
  if (noted.empty()) {
    noted = std::move(now);
    return;
  }
  for (std::size_t i = 0; i < std::min(noted.size(), now.size()); ++i) {
    if (noted[i] != now[i]) noted[i] += ", later " + now[i];
  }
}

void require_context_of(const Tape& tape, std::uint32_t segment) {
  const SegmentInstance& instance = tape.data().segments[segment];
  for (std::size_t i = 0; i < instance.context.size(); ++i) {
    std::string now = keys()[i].read(tape);
    if (now == instance.context[i]) continue;
    fail(ErrorKind::replay,
         "[replay] expected the context of segment '{}' as in its forward, {} = {}, got {}. It says {}: set it back "
         "before the backward, or change it between steps only.",
         instance.name, keys()[i].name, instance.context[i], now, keys()[i].about);
  }
}

}  // namespace reprise
