// Statements that decide what runs when: if, with, call, hook, on_grad, backward, grad.
#include <cmath>

#include "autograd/segment.h"
#include "ops/shape_ops.h"
#include "tools/conform/machine.h"
#include "tools/conform/operators.h"
#include "tools/conform/special_ops.h"

namespace reprise::conform {
namespace {

constexpr std::int64_t kMaxStatements = 1'000'000;
constexpr int kMaxCallDepth = 200;

/// Puts a variable back at the end of a scope, after an error too.
template <class T>
class Restore {
 public:
  Restore(T& variable, T now) : variable_(variable), before_(std::exchange(variable, std::move(now))) {}
  ~Restore() { variable_ = std::move(before_); }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  T& variable_;
  T before_;
};

void collect_names(const std::vector<Statement>& body, std::set<std::string>& names) {
  auto add = [&](const Operand& operand) {
    if (!operand.name.empty()) names.insert(operand.name);
  };
  for (const Statement& s : body) {
    for (const Operand& operand : s.in) add(operand);
    add(s.value);
    if (s.literal.is_string()) names.insert(s.literal.get<std::string>());
    if (s.region.rows_from) add(*s.region.rows_from);
    if (!s.target.empty()) names.insert(s.target);
    collect_names(s.body, names);
    collect_names(s.otherwise, names);
  }
}

}  // namespace

void Machine::run() { run_list(program_.main); }

void Machine::run_list(const std::vector<Statement>& list) {
  for (const Statement& s : list) {
    if (++statements_ > kMaxStatements)
      throw Unsupported(fmt::format("[conform] more than {} statements run", kMaxStatements));
    try {
      run_one(s);
    } catch (Error& error) {
      error.add_context("at " + s.path);
      throw;
    }
  }
}

void Machine::run_one(const Statement& s) {
  switch (s.kind) {
    case Do::op: return run_op(s);
    case Do::read: return run_read(s);
    case Do::write: return run_write(s);
    case Do::draw: return run_draw(s);
    case Do::set: return run_set(s);
    case Do::bump: return run_bump(s);
    case Do::append: return run_append(s);
    case Do::choose: return run_if(s);
    case Do::with: return run_with(s);
    case Do::context: return bind(s.out, copied(contexts_.at(s.target)));
    case Do::call: return run_call(s);
    case Do::hook: return run_hook(s);
    case Do::on_grad: return run_on_grad(s);
    case Do::backward: return run_backward(s);
    case Do::grad: return run_grad(s);
  }
}

void Machine::run_if(const Statement& s) {
  double a = number(s.in[0]), b = number(s.in[1]);
  bool holds = false;
  if (s.test == "eq") holds = a == b;
  if (s.test == "lt") holds = a < b;
  if (s.test == "mod") {
    double rest = std::fmod(a, b);
    if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
    holds = rest == number(s.in[2]);
  }
  run_list(holds ? s.body : s.otherwise);
}

void Machine::run_with(const Statement& s) {
  Restore<double> context(contexts_.at(s.target), number(s.value));
  run_list(s.body);
}

void Machine::run_call(const Statement& s) {
  const SegmentDecl& decl = program_.segments.at(s.target);
  if (tape_->data().segment_stack.size() >= kMaxCallDepth) {
    throw Unsupported(fmt::format("[conform] calls nested deeper than {}", kMaxCallDepth));
  }
  std::vector<Object> outs;
  segment(*tape_, s.target, [&] {
    Frame frame;
    frame.locals = std::make_shared<Scope>();
    frame.outer = frame_->outer ? frame_->outer : frame_->locals.get();
    for (std::size_t i = 0; i < decl.args.size(); ++i) {
      const Operand& arg = s.in[i];
      (*frame.locals)[decl.args[i]] =
          arg.name.empty() ? Object(std::make_shared<NumberObject>(NumberObject{arg.number, {}})) : lookup(arg.name);
    }
    Restore<Frame*> inside(frame_, &frame);
    run_list(decl.body);
    std::vector<Value> values;
    for (const std::string& name : decl.out) {
      outs.push_back(lookup(name));
      const auto* number = std::get_if<NumberRef>(&outs.back());
      if (number && (*number)->value) outs.back() = Value(*(*number)->value);
      if (const auto* value = std::get_if<Value>(&outs.back())) values.push_back(*value);
    }
    if (frame.locals.use_count() > 1) {  // hooks look names up later
      std::erase_if(*frame.locals, [&](const auto& item) { return frame.held.count(item.first) == 0; });
    }
    return values;
  });
  for (std::size_t i = 0; i < outs.size(); ++i) bind(s.outs[i], std::move(outs[i]));
}

// ---- bodies that run in the backward

const std::function<void()>& Machine::closure(const std::vector<Statement>& body) {
  Closure& closure = closures_.emplace_back();
  closure.body = &body;
  closure.locals = frame_->locals;
  closure.main = frame_->outer == nullptr;
  if (!closure.main) {
    std::set<std::string> names;
    collect_names(body, names);
    for (const std::string& name : names) {
      frame_->held.insert(name);
      auto at = frame_->outer->find(name);
      if (at != frame_->outer->end()) closure.outer.insert(*at);
    }
  }
  closure.call = [this, &closure] { run_closure(closure); };
  return closure.call;
}

/// A body's write to a value is as differentiable as any other: a later backward passes through it.
void Machine::run_closure(const Closure& closure) {
  Frame frame;
  frame.locals = closure.locals;
  frame.outer = closure.main ? nullptr : &closure.outer;
  Restore<Frame*> inside(frame_, &frame);
  run_list(*closure.body);
}

void Machine::run_hook(const Statement& s) {
  Arg in = operand(s.in[0]);
  require_recorded(in, s);
  if (const double* number = std::get_if<double>(&in.what())) in = tape_->constant(*number, program_.dtype);
  bind(s.out, hook(*tape_, std::move(in), closure(s.body)));
}

void Machine::run_on_grad(const Statement& s) {
  const Object& object = lookup(s.target);
  const auto* leaf = std::get_if<LeafObject>(&object);
  if (!leaf) fail(ErrorKind::user, "[on_grad] expected a leaf or param, got '{}'", s.target);
  leaf->leaf->hooks.emplace_back([&call = closure(s.body)](Leaf&) { call(); });
}

/// Whether a node that an earlier backward has consumed lies above `roots`.
bool Machine::reaches_consumed(const std::vector<Value>& roots) const {
  const TapeData& data = tape_->data();
  std::vector<std::uint8_t> reached(data.nodes.size(), 0);
  for (const Value& root : roots) reached[data.values[root.id()].node] = 1;
  for (std::size_t n = data.nodes.size(); n-- > 0;) {
    if (!reached[n]) continue;
    const NodeRecord& node = data.nodes[n];
    if (node.consumed) return true;
    for (int i = 0; i < node.inputs + node.updates; ++i) {
      const OperandRecord& operand = data.operands[node.first_operand + i];
      if ((node.wanted >> i & 1) && operand.kind == OperandKind::value) reached[data.values[operand.value].node] = 1;
    }
  }
  return false;
}

void Machine::run_backward(const Statement& s) {
  std::vector<Value> roots;
  for (const Operand& each : s.in) {
    Arg of = operand(each);
    require_recorded(of, s);
    if (std::holds_alternative<LeafRef>(of.what())) of = copy(*tape_, of);
    const auto* value = std::get_if<Value>(&of.what());
    if (value && value->requires_grad()) roots.push_back(*value);
  }
  if (roots.empty()) return;  // the sum is a constant
  if (!options_.keep_all && reaches_consumed(roots)) throw NeedsKeep();
  for (std::int64_t failures = 0;; ++failures) {
    try {
      in_backward_ = true;
      differentiate(roots, s.keep || options_.keep_all);
      in_backward_ = false;
      return;
    } catch (const InjectedFailure&) {
      if (failures == s.retries) throw;
    }
  }
}

/// Whatever comes of a backward, every buffer, parameter, cell, value and stream is as it was, but for what hooks did.
void Machine::differentiate(const std::vector<Value>& roots, bool keep) {
  Watched watched;
  watch(watched);
  Restore<Watched*> while_it_runs(watched_, &watched);
  try {
    tape_->backward(roots, keep);
  } catch (const InjectedFailure&) {
    require_untouched(watched);
    throw;
  }
  require_untouched(watched);
}

void Machine::watch(Watched& watched) const {
  auto note = [&](const std::string& name, const Tensor& tensor) { watched.bytes.note("'" + name + "'", tensor); };
  auto note_arg = [&](const std::string& name, const Arg& arg) {
    if (const auto* value = std::get_if<Value>(&arg.what())) note(name, value->tensor());
    if (const auto* tensor = std::get_if<Tensor>(&arg.what())) note(name, *tensor);
  };
  for (const Scope* scope : {&declared_, static_cast<const Scope*>(main_.locals.get())}) {
    for (const auto& [name, object] : *scope) {
      if (const auto* value = std::get_if<Value>(&object)) note(name, value->tensor());
      if (const auto* leaf = std::get_if<LeafObject>(&object)) note(name, leaf->leaf->data);
      if (const auto* state = std::get_if<StateObject>(&object)) note(name, state->tensor);
    }
  }
  for (const auto& [name, cell] : cells_) note_arg(name, cell.content);
  for (const auto& [name, stream] : streams_) watched.positions[name] = stream.position;
}

void Machine::require_untouched(const Watched& watched) const {
  std::string changed = watched.bytes.difference();
  for (const auto& [name, position] : watched.positions) {
    std::uint64_t stands = streams_.at(name).position;
    if (changed.empty() && stands != position)
      changed = fmt::format("stream '{}' stands at {} instead of {}", name, stands, position);
  }
  if (changed.empty()) return;
  fail(ErrorKind::internal, "[backward] expected all but what hooks wrote as it was before: {}", changed);
}

void Machine::run_grad(const Statement& s) {
  const Object& object = lookup(s.target);
  const auto* held = std::get_if<LeafObject>(&object);
  if (!held) fail(ErrorKind::user, "[grad] expected a leaf or param, got '{}'", s.target);
  Leaf& leaf = *held->leaf;
  Tensor gradient = leaf.grad;
  if (leaf.grad_empty) {
    gradient = constant_tensor(*tape_, leaf.data.dtype(), leaf.data.shape(),
                               std::vector<double>(static_cast<std::size_t>(leaf.data.size()), 0.0));
  }
  bind(s.out, copied(gradient));
  if (s.clear) leaf.clear_grad();
}

}  // namespace reprise::conform
