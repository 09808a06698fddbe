#include "autograd/op.h"

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "core/error.h"

namespace reprise {

namespace {

int find_name(const std::vector<const char*>& names, const std::string& name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (plain_name(names[i]) == name) return static_cast<int>(i);
  }
  return -1;
}

/// Errors (internal): no rule of .saves names it, its place among the operands depends on their number, or the gradient
/// that is to lie there is handed through, before the formula has read anything.
OpInfo::FromSaved resolve_saved_reuse(const Op& op, const OpInfo& info, const SavedReuse& reuse) {
  bool operand = reuse.from.from == Saved::From::operand;
  int from = operand ? operand_index(op, reuse.from.name) : result_index(op, reuse.from.name);
  int to = operand_index(op, reuse.to);
  Mask saved = 0;
  for (Mask needs : operand ? info.needs_operands : info.needs_results) saved |= needs;
  bool handed_through = false;
  for (const Reuse& pass : op.passes) handed_through |= operand_index(op, pass.to) == to;
  if (op.variadic || handed_through || !(saved >> from & 1)) {
    fail(ErrorKind::internal,
         "[{}] expected .saved_reuse to name what .saves names, for a gradient that .passes does not, of an op that is "
         "not variadic; got {} for {}",
         op.name, reuse.from.name, reuse.to);
  }
  return {reuse.from.from, from, to};
}

OpInfo resolve(const Op& op) {
  OpInfo info;
  info.op = &op;
  int operands = op.input_count() + op.update_count();
  info.needs_operands.resize(static_cast<std::size_t>(operands));
  info.needs_results.resize(static_cast<std::size_t>(operands));
  for (const SaveRule& rule : op.saves) {
    int wanted = operand_index(op, rule.wanted);
    info.differentiable |= Mask{1} << wanted;
    for (const Saved& saved : rule.needs) {
      if (saved.from == Saved::From::operand)
        info.needs_operands[wanted] |= Mask{1} << operand_index(op, saved.name);
      else
        info.needs_results[wanted] |= Mask{1} << result_index(op, saved.name);
    }
  }
  for (const char* name : op.decisions) info.decisions |= Mask{1} << result_index(op, name);
  for (const char* name : op.keeps) info.keeps |= Mask{1} << result_index(op, name);
  info.decisions |= info.keeps;
  if (op.nondeterministic || op.effect) info.decisions = ~Mask{0};
  for (const Reuse& r : op.reuse) info.reuse.emplace_back(operand_index(op, r.from), result_index(op, r.to));
  for (const Reuse& r : op.grad_reuse) info.grad_reuse.emplace_back(result_index(op, r.from), operand_index(op, r.to));
  for (const SavedReuse& r : op.saved_reuse) info.saved_reuse.push_back(resolve_saved_reuse(op, info, r));
  for (const Reuse& r : op.passes) {
    int update = find_name(op.updates, r.from);
    info.passes.push_back({update >= 0 ? update : result_index(op, r.from), update >= 0, operand_index(op, r.to)});
  }
  for (const char* const& name : op.inputs) {
    bool optional = name[std::strlen(name) - 1] == '?';
    if (!optional && info.required_inputs != static_cast<int>(&name - op.inputs.data())) {
      fail(ErrorKind::internal, "[{}] expected optional inputs last, got {} after one", op.name, name);
    }
    if (!optional) ++info.required_inputs;
  }
  if (!op.infer || (!op.forward && !op.view)) fail(ErrorKind::internal, "[{}] expected infer and forward", op.name);
  if (info.differentiable && !op.backward) fail(ErrorKind::internal, "[{}] has .saves but no backward", op.name);
  return info;
}

struct Registry {
  std::vector<const Op*> list;
  std::map<std::string, const Op*> by_name;
  const Op* copying = nullptr;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

std::string plain_name(const char* declared) {
  std::string name(declared);
  if (name.ends_with('?')) name.pop_back();
  return name;
}

std::string operand_name(const Op& op, int inputs, int index) {
  if (index >= inputs) return plain_name(op.updates[index - inputs]);
  int last = op.input_count() - 1;
  if (op.variadic && index >= last) return fmt::format("{}[{}]", plain_name(op.inputs[last]), index - last);
  return plain_name(op.inputs[index]);
}

int operand_index(const Op& op, const std::string& name) {
  int at = find_name(op.inputs, name);
  if (at >= 0) return at;
  at = find_name(op.updates, name);
  if (at >= 0) return op.input_count() + at;
  fail(ErrorKind::internal, "[{}] the contract names operand '{}', which is no input or update", op.name, name);
}

int result_index(const Op& op, const std::string& name) {
  int at = find_name(op.outputs, name);
  if (at >= 0) return at;
  at = find_name(op.made, name);
  if (at >= 0) return static_cast<int>(op.outputs.size()) + at;
  fail(ErrorKind::internal, "[{}] the contract names result '{}', which is no output and not made", op.name, name);
}

const OpInfo& info_of(const Op& op) {
  std::atomic_ref<const OpInfo*> resolved(op.resolved);
  auto known = [&] {
    const OpInfo* info = resolved.load(std::memory_order_acquire);
    return info && info->op == &op ? info : nullptr;  // a copy of an op that was resolved is another op
  };
  if (const OpInfo* info = known()) return *info;
  auto fresh = std::make_unique<OpInfo>(resolve(op));
  static std::mutex mutex;
  static std::vector<std::unique_ptr<OpInfo>> infos;
  std::lock_guard<std::mutex> lock(mutex);
  if (const OpInfo* info = known()) return *info;  // another thread's tape was quicker
  infos.push_back(std::move(fresh));
  resolved.store(infos.back().get(), std::memory_order_release);
  return *infos.back();
}

void register_op(const Op& op) {
  const Op* copying = registry().copying;
  if (op.copies && copying && copying != &op) {
    fail(ErrorKind::user, "[{}] expected one op that copies, got a second beside '{}'. Leave .copies out.", op.name,
         copying->name);
  }
  if (const Op* known = find_op(op.name)) {
    if (known == &op) return;
    fail(ErrorKind::user, "[{}] an op of this name is registered already. Give yours another name.", op.name);
  }
  info_of(op);  // before the registry knows the op: a contract that contradicts itself leaves nothing in it
  registry().by_name.emplace(op.name, &op);
  registry().list.push_back(&op);
  if (op.copies) registry().copying = &op;
}

const std::vector<const Op*>& registered_ops() { return registry().list; }

const Op* find_op(const std::string& name) {
  auto at = registry().by_name.find(name);
  return at == registry().by_name.end() ? nullptr : at->second;
}

const Op* copying_op() { return registry().copying; }

}  // namespace reprise
