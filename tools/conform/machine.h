// Machine: one run of one conformance program on a tape, under one method. Statements run once each, in order; every
// object of the language is one object of the framework (see Object).
//
// Invariant: when a segment call has returned, the machine names none of its values but the ones it returned and the
// ones that cells and hooks hold, so that what the method drops is dropped.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "autograd/tape.h"
#include "memory/byte_watch.h"
#include "recompute/methods.h"
#include "recompute/replay.h"
#include "tools/conform/program.h"

namespace reprise::conform {

/// The runner cannot express the program.
class Unsupported : public Error {
 public:
  explicit Unsupported(std::string text) : Error(ErrorKind::user, std::move(text)) {}
};

/// A later backward differentiates nodes that an earlier one without `keep` has consumed. The language allows this (it
/// speaks of the roots only), the framework wants to know before; so the program is run again with `keep` everywhere.
class NeedsKeep : public Error {
 public:
  NeedsKeep() : Error(ErrorKind::user, "[backward] a node was differentiated before") {}
};

struct Cell {
  CellData data;
  Arg content;  // of a tensor cell: a state at first, then values
};

struct LeafObject {
  LeafRef leaf;
  bool writable = false;
};
struct StateObject {
  Tensor tensor;
  bool writable = false;
  bool view = false;
};
/// A number that a call was given: a value once something is written to it.
struct NumberObject {
  double number = 0;
  std::optional<Value> value;
};
using NumberRef = std::shared_ptr<NumberObject>;
/// What a name stands for. Copies stand for the same object.
using Object = std::variant<std::monostate, Value, LeafObject, StateObject, Cell*, NumberRef>;
using Scope = std::map<std::string, Object>;

struct MachineOptions {
  Method method = Method::retain;
  std::uint64_t seed = 0;
  bool keep_all = false;
  TapeObserver* observer = nullptr;  // looks on while backwards run
};

class Machine {
 public:
  Machine(const Program& program, Memory& memory, const MachineOptions& options);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Runs main. Errors: whatever the framework refuses, with the statement's place as context; internal, where a
  /// backward changed what it must leave alone.
  void run();
  bool in_backward() const { return in_backward_; }

  // ---- what stands at the end
  TensorData gradient(const std::string& input) const;
  TensorData bytes(const std::string& name) const;  // of a buffer or param
  std::uint64_t position(const std::string& stream) const { return streams_.at(stream).position; }
  CellData cell(const std::string& name) const;
  /// Most replays of one instance of a segment.
  std::int64_t replays(const std::string& segment) const;
  /// Clears the tape; the live bytes beyond those of what was declared and of gradients, if there are any.
  std::int64_t clear_tape();

 private:
  /// Where names are looked up: the innermost scope, then, in a segment, main's.
  struct Frame {
    std::shared_ptr<Scope> locals;
    const Scope* outer = nullptr;  // null in main
    std::set<std::string> held;    // names that hooks of this segment will look up
  };
  struct Closure {
    const std::vector<Statement>* body;
    std::shared_ptr<Scope> locals;
    Scope outer;  // main's values that the body names, as they stood
    bool main = false;
    std::function<void()> call;
  };

  /// What a backward must leave alone while it runs, but for what the program's own hooks do.
  struct Watched {
    ByteWatch bytes;
    std::map<std::string, std::uint64_t> positions;  // of streams
  };

  void declare(const Program& program);
  Tensor state(const std::string& name, const TensorData& data, Category category);
  void watch_states();

  void run_list(const std::vector<Statement>& list);
  void run_one(const Statement& s);
  void run_op(const Statement& s);
  void run_read(const Statement& s);
  void run_write(const Statement& s);
  Arg passing_by(const Arg& to, const Arg& value);
  void write_in_order(const Statement& s, const Arg& to, const Arg& value);
  std::int64_t write_foreign(const Statement& s, const Tensor& to, const Arg& value);
  void write_foreign(const Statement& s, const Value& to, const Arg& value);
  void require_recorded(const Arg& arg, const Statement& s) const;
  Tensor own_bytes(const Value& value);
  std::vector<std::int64_t> row_numbers(const RegionSpec& region, std::int64_t count);
  void run_draw(const Statement& s);
  void run_set(const Statement& s);
  void run_bump(const Statement& s);
  void run_append(const Statement& s);
  void run_if(const Statement& s);
  void run_with(const Statement& s);
  void run_call(const Statement& s);
  void run_hook(const Statement& s);
  void run_on_grad(const Statement& s);
  void run_backward(const Statement& s);
  void differentiate(const std::vector<Value>& roots, bool keep);
  void watch(Watched& watched) const;
  void require_untouched(const Watched& watched) const;
  void run_grad(const Statement& s);

  const Object* find(const std::string& name) const;  // null: nothing of that name is in sight
  const Object& lookup(const std::string& name) const;
  void bind(const std::string& name, Object object) { (*frame_->locals)[name] = std::move(object); }
  Arg operand(const Operand& operand);
  Arg operand(const Object& object);
  Arg constant_operand(const Object& object);
  Arg rows(const RegionSpec& region);
  Tensor part(const Tensor& tensor, const RegionSpec& region) const;
  Cell& find_cell(const std::string& name);
  double number(const Operand& operand);
  const std::function<void()>& closure(const std::vector<Statement>& body);
  void run_closure(const Closure& closure);
  bool reaches_consumed(const std::vector<Value>& roots) const;
  Value copied(const Arg& arg);

  const Program& program_;
  Memory& memory_;
  MachineOptions options_;
  std::unique_ptr<SegmentPolicy> policy_;
  TraceReplayer replayer_;
  std::map<std::string, Cell> cells_;
  std::map<std::string, Stream> streams_;
  std::map<std::string, double> contexts_;
  Scope declared_;
  std::unique_ptr<Tape> tape_;
  std::deque<Closure> closures_;
  Frame main_;
  Frame* frame_ = nullptr;
  std::map<ValueId, std::string> unrecorded_;  // values whose derivative a foreign write has changed, and where
  std::int64_t statements_ = 0, declared_bytes_ = 0;
  Watched* watched_ = nullptr;  // while a backward runs
  bool in_backward_ = false;
};

}  // namespace reprise::conform
