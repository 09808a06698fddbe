// The op: a contract (what it reads, writes, draws, saves, decides) with a shape rule, a forward and a backward.
//
// Tape, engine, replay, planner, docs and tests read this data; none of them holds a list of op names. To add an op:
// one file that defines a `const Op`, one line in its family's registry, one row of tests (see ops/README.md).
//
// Numbering. Operands: inputs 0..n-1, then updates n..n+m-1. Results: outputs, then made ones, then one new value for
// each update whose operand is a value (an in-place write to a value is a node with a new value).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "autograd/attrs.h"
#include "core/stream.h"
#include "core/tensor.h"

namespace reprise {

/// A set of operands or results of one node, by position. A variadic op takes at most kMaxOperands operands.
using Mask = std::uint64_t;
constexpr int kMaxOperands = 60;

struct OpInfo;
class InferContext;
class ForwardContext;
class BackwardContext;
class RegionContext;

/// One thing that a backward formula reads: an operand as the forward saw it (an update: before the write), or a
/// result.
struct Saved {
  enum class From : std::uint8_t { operand, result } from;
  const char* name;
};
inline Saved in(const char* name) { return {Saved::From::operand, name}; }
inline Saved old(const char* name) { return {Saved::From::operand, name}; }
inline Saved out(const char* name) { return {Saved::From::result, name}; }
inline Saved made(const char* name) { return {Saved::From::result, name}; }

/// What the gradient of one operand needs. An operand without a rule gets no gradient.
struct SaveRule {
  const char* wanted;
  std::vector<Saved> needs;
};

/// `from` and `to` may share memory: the kernel reads element i of `from` before it writes element i of `to`.
struct Reuse {
  const char* from;
  const char* to;
};

/// The gradient of operand `to` may take over the memory of what the formula has saved: it reads element i of `from`
/// before it writes element i of the gradient, and not afterwards.
struct SavedReuse {
  Saved from;
  const char* to;
};

struct Op {
  const char* name;
  const char* about = "";                 // one sentence for `reprise ops`
  std::vector<const char*> inputs;        // a name ending in '?' may be left out (from the right only)
  std::vector<const char*> updates = {};  // written once, in forward; a replay never writes one that is state
  std::vector<const char*> outputs = {};
  std::vector<const char*> made = {};  // results that only the backward formula reads (mean, rstd, ...)
  std::vector<AttrSpec> attrs = {};
  std::vector<SaveRule> saves = {};         // what each wanted gradient needs
  std::vector<const char*> decisions = {};  // outputs that are kept, never recomputed (argmax, top-k, sampling)
  std::vector<const char*> keeps = {};  // made results so small that keeping them always beats running again for them
  /// A replay is given the results in `keeps` (ForwardContext::given), reads them, and does not make them again.
  bool replays_from_keeps = false;
  std::vector<Reuse> reuse = {};             // outputs that may take over an input's memory
  std::vector<Reuse> grad_reuse = {};        // input gradients that may take over an output gradient's memory
  std::vector<SavedReuse> saved_reuse = {};  // and those that may take over what nobody else will ask for
  /// Gradients handed through: where element counts agree, the gradient of operand `to` is that of result (or update's
  /// new value) `from`, element for element. The tape shares its memory and does not ask the backward for it.
  std::vector<Reuse> passes = {};

  bool variadic = false;          // the last input repeats, at least once
  bool strided = false;           // kernels take any strides; else operands are made contiguous by a recorded copy
  bool view = false;              // the output is a view of input 0: no kernel runs
  bool copies = false;            // what the tape makes operands contiguous with; one registered op may say so
  bool draws = false;             // takes numbers from a stream; the count comes from infer
  bool nondeterministic = false;  // may not repeat itself: its outputs are retained
  bool effect = false;            // reaches the outside world (callback, collective): happens once, outputs retained
  bool accumulates = false;       // backward honours accumulates(i): adds to grad(i) instead of overwriting it
  /// What may fail in its backward fails before the first grad(i). Only then is a formula given memory that holds
  /// something: sums to add to (accumulates), and output gradients or saved bytes to take over (grad_reuse,
  /// saved_reuse). One that failed half-way through these could not run again. Without it gradients are made apart and
  /// added when the formula is done.
  bool fails_first = false;
  bool outputs_ignore_updates = false;  // no output depends on an update's old bytes, and forward honours writes()

  void (*infer)(InferContext&) = nullptr;
  void (*forward)(ForwardContext&) = nullptr;
  void (*backward)(BackwardContext&) = nullptr;
  /// The bytes of operand `index` that the op reads (inputs) or writes (updates); null: the whole view.
  Region (*region)(const RegionContext&, int index) = nullptr;

  mutable const OpInfo* resolved = nullptr;  // set by info_of(), which alone reads it

  int input_count() const { return static_cast<int>(inputs.size()); }
  int update_count() const { return static_cast<int>(updates.size()); }
};

/// What an operand looks like to a shape rule.
struct OperandShape {
  DType dtype = DType::f32;
  Shape shape;
  Strides strides;
  bool present = false;
};

/// The shape rule's view: shapes in, shapes and workspace out; never data. Errors: user, naming op and shapes.
class InferContext {
 public:
  virtual const Op& op() const = 0;
  virtual const Attrs& attrs() const = 0;
  virtual int operand_count() const = 0;  // inputs given (variadic: all), then updates
  virtual int input_count() const = 0;    // inputs given
  virtual const OperandShape& operand(int index) const = 0;
  const Shape& shape(int index) const { return operand(index).shape; }
  DType dtype(int index) const { return operand(index).dtype; }
  bool has(int index) const { return index < input_count() && operand(index).present; }

  /// Declares result `index` (outputs, then made), contiguous.
  virtual void result(int index, DType dtype, const Shape& shape) = 0;
  /// For view ops: strides and offset (elements) of the output within input 0's own view.
  virtual void view_result(const Shape& shape, const Strides& strides, std::int64_t offset) = 0;
  /// Scratch bytes of the chosen implementation.
  virtual void workspace(std::int64_t forward_bytes, std::int64_t backward_bytes) = 0;
  /// How many numbers the op draws.
  virtual void draws(std::int64_t count) = 0;

 protected:
  ~InferContext() = default;
};

/// For Op::region. data(index) is null in a dry trace; then return a region that bounds the true one.
class RegionContext {
 public:
  virtual const Op& op() const = 0;
  virtual const Attrs& attrs() const = 0;
  virtual int input_count() const = 0;
  virtual const Tensor& operand(int index) const = 0;  // shape, strides, offset, storage
  virtual TensorView view(int index) const = 0;        // bytes; data may be null
 protected:
  ~RegionContext() = default;
};

class ForwardContext {
 public:
  const Op* op = nullptr;
  const Attrs* attrs = nullptr;
  int inputs = 0;  // inputs given
  int updates = 0;
  int results = 0;
  const TensorView* operand_views = nullptr;
  const TensorView* result_views = nullptr;
  DrawRange draw;
  std::byte* workspace = nullptr;    // 64-byte aligned
  std::int64_t workspace_bytes = 0;  // as many as infer asked for
  bool replay = false;               // true in a recomputation
  Mask given = 0;                    // results that hold their values already: to be read, not written
  std::uint32_t run = 1;             // how often this node has physically run, this time included

  const TensorView& in(int index) const { return operand_views[index]; }
  bool has(int index) const { return index < inputs && operand_views[index].data != nullptr; }
  const TensorView& update(int index) const { return operand_views[inputs + index]; }
  /// False where a replay must leave a state alone. update(index) is then not to be touched if the op says
  /// outputs_ignore_updates, else a private copy of the old bytes.
  bool writes(int) const { return !replay; }
  const TensorView& out(int index) const { return result_views[index]; }
  bool is_given(int result) const { return given >> result & 1; }
};

class BackwardContext {
 public:
  const Op* op = nullptr;
  const Attrs* attrs = nullptr;
  int inputs = 0;
  int updates = 0;
  DrawRange draw;
  std::byte* workspace = nullptr;
  std::int64_t workspace_bytes = 0;

  /// Saved operand or result as the forward saw it. Errors (internal) when .saves does not name it.
  virtual const TensorView& in(int index) const = 0;
  const TensorView& old(int update) const { return in(inputs + update); }
  virtual const TensorView& out(int index) const = 0;
  /// Shape and dtype of any operand or result, without its bytes (data is null).
  virtual TensorView operand_shape(int index) const = 0;
  virtual TensorView result_shape(int index) const = 0;

  /// Gradient that arrives at a result; not defined() when none does (it is zero). Contiguous.
  virtual const TensorView& grad_out(int index) const = 0;
  /// Gradient that arrives at the new value of update `index`.
  virtual const TensorView& grad_updated(int index) const = 0;

  /// Whether operand `index` wants a gradient from the backward (one that is handed through does not).
  virtual bool wants(int index) const = 0;
  /// Where to put it: contiguous, the operand's shape, not initialised (unless accumulates(index): then add to it).
  virtual const TensorView& grad(int index) = 0;
  virtual bool accumulates(int index) const = 0;

 protected:
  ~BackwardContext() = default;
};

// ---- the registry -------------------------------------------------------------------------------------------------

/// Position of a named operand or result in an op's numbering. Errors (internal) when the op has none of that name.
int operand_index(const Op& op, const std::string& name);
int result_index(const Op& op, const std::string& name);

/// A declared name as texts show it: without the mark of an operand that may be left out.
std::string plain_name(const char* declared);
/// The name of operand `index` of a node with `inputs` inputs; "parts[2]" where the last input repeats.
std::string operand_name(const Op& op, int inputs, int index);

/// What a contract means once its names are resolved to positions; computed once per op.
struct OpInfo {
  const Op* op = nullptr;
  Mask differentiable = 0;                      // declared operands that have a SaveRule
  std::vector<Mask> needs_operands;             // per declared operand: saved operands if its gradient is wanted
  std::vector<Mask> needs_results;              // per declared operand: saved results
  Mask keeps = 0;                               // results named in `keeps`
  Mask decisions = 0;                           // results that are kept whatever an option says (decisions and keeps)
  std::vector<std::pair<int, int>> reuse;       // (input, result)
  std::vector<std::pair<int, int>> grad_reuse;  // (result, operand)
  struct FromSaved {
    Saved::From kind;
    int from;  // an operand, or a result
    int operand;
  };
  std::vector<FromSaved> saved_reuse;
  struct Pass {
    int from;  // a result, or an update
    bool update;
    int operand;
  };
  std::vector<Pass> passes;
  int required_inputs = 0;  // inputs that may not be left out
};

/// The resolved contract of an op; resolves it at the first call, which threads with tapes of their own may make at
/// once. Errors (internal): a contract that contradicts itself.
const OpInfo& info_of(const Op& op);

/// Adds an op to the registry (built-in families, and users' own ops); nothing where it is there already. Errors
/// (user): a second op of one name, a second one that copies; (internal): as of info_of(). The registry is as before
/// then.
void register_op(const Op& op);
/// All registered ops in order of registration.
const std::vector<const Op*>& registered_ops();
/// Null when there is none.
const Op* find_op(const std::string& name);
/// The op that says that it copies; null when there is none.
const Op* copying_op();

}  // namespace reprise
