// The tape: the record of one step, an explicit object. apply() executes an op and records it as a node; backward()
// walks the nodes in exactly the reverse of recording order: `tape.backward(mean(tape, relu(tape, x)))`.
// Storages, streams and tape belong to the step's thread.
//
// Note: who keeps what. A value lives while a handle names it, a backward formula or a replay owes it, or it is a
// decision. State is never copied until a write would break what is owed (memory/preserver.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/node.h"
#include "autograd/observer.h"
#include "autograd/op.h"
#include "autograd/schedule.h"
#include "autograd/value.h"
#include "core/interrupt.h"
#include "memory/memory.h"

namespace reprise {

class Guard;
class Replayer;
struct BuilderScratch;

struct TapeOptions {
  bool record = true;                // false: inference mode, nothing is recorded and nothing is owed
  DType default_dtype = DType::f32;  // of numbers among operands when no other operand is floating
  bool guard = false;                // hash, poison and rerun to catch undeclared reads, writes and draws
};

struct ApplyOptions {
  Stream* stream = nullptr;     // for ops that draw
  const char* label = nullptr;  // names the node in error texts and traces; must outlive the tape
};

class Tape {
 public:
  explicit Tape(Memory& memory, TapeOptions options = {});
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // ---- forward
  /// Executes `op` and records it. Returns its outputs (not the made ones). Operands: inputs, then updates. An update
  /// that is a value is written in place and its handle stands for the new value.
  /// Errors: user (shapes, dtypes, indices: before anything has changed), memory.
  std::vector<Value> apply(const Op& op, std::span<const Arg> operands, const Attrs& attrs = {},
                           const ApplyOptions& options = {});
  /// The same for the usual case of exactly one output.
  Value apply_one(const Op& op, std::initializer_list<Arg> operands, const Attrs& attrs = {},
                  const ApplyOptions& options = {});
  /// The same for exactly N outputs.
  template <std::size_t N>
  std::array<Value, N> apply_n(const Op& op, std::span<const Arg> operands, const Attrs& attrs = {},
                               const ApplyOptions& options = {}) {
    std::uint32_t first = data_.nodes[record(op, operands, attrs, options)].first_value;
    std::array<Value, N> outputs;
    for (std::size_t i = 0; i < N; ++i) outputs[i] = make_handle(first + static_cast<ValueId>(i));
    return outputs;
  }
  /// The same for state writers without outputs.
  void apply_none(const Op& op, std::initializer_list<Arg> operands, const Attrs& attrs = {},
                  const ApplyOptions& options = {});

  /// While alive, nothing recorded on the tape wants a gradient.
  class NoGrad {
   public:
    explicit NoGrad(Tape& tape) : tape_(tape) { ++tape_.no_grad_depth_; }
    ~NoGrad() { --tape_.no_grad_depth_; }
    NoGrad(const NoGrad&) = delete;
    NoGrad& operator=(const NoGrad&) = delete;

   private:
    Tape& tape_;
  };

  // ---- backward
  /// Adds the gradient of the sum of all elements of `of` to every reached leaf's accumulator. Without `keep` the
  /// visited nodes are consumed. After a failure the same call continues where it stopped.
  /// Errors: user (a consumed node, another backward unfinished), replay, memory, whatever a hook throws; Interrupted
  /// when asked to stop (set_stop).
  void backward(std::span<const Value> of, bool keep = false);
  void backward(const Value& of, bool keep = false) { backward(std::span(&of, 1), keep); }

  /// Forgets all nodes, values and obligations; capacity is kept for the next step. Handles still alive turn empty.
  /// Errors (user), as of abandon_backward(): called by a hook of a backward that is under way.
  void clear();
  /// Ends an unfinished backward: its pending gradients are dropped; leaves it had touched must be cleared before use.
  void abandon_backward();

  /// `stop` is asked before each node of a backward and of a replay, as stop_requested() of core/interrupt.h. Where it
  /// says yes, the backward ends with Interrupted, with nothing of that node moved. Null, as at first: never. It is for
  /// programs that call the backward again or drop the step. The trainer leaves it null and finishes the step: ended
  /// in its middle, it has moved statistics, queues and streams, and all since the last checkpoint would be lost.
  void set_stop(bool (*stop)()) { stop_ = stop; }
  /// For the engine and replay.
  void stop_here() const {
    if (stop_ && stop_()) throw Interrupted{"differentiating"};
  }

  // ---- segments (use segment() in autograd/segment.h)
  void set_policy(SegmentPolicy* policy) { policy_ = policy; }
  void set_replayer(Replayer* replayer) { replayer_ = replayer; }
  std::uint32_t begin_segment(std::string_view name);
  void end_segment(std::span<const ValueId> outputs);
  void abort_segment() noexcept;

  /// Called with the number of each node after its forward has run, for instance to look at results before they are let
  /// go of. Null for none.
  void set_node_hook(std::function<void(std::uint32_t)> hook) { node_hook_ = std::move(hook); }

  /// Looks on while backwards run; null for nobody. Must outlive them.
  void set_observer(TapeObserver* observer) { observer_ = observer; }
  TapeObserver* observer() const { return observer_; }

  // ---- planned steps
  /// Until the next clear(), the step recorded here must be the one that `schedule` tells; null: none is expected. The
  /// tape must be empty. Errors of the nodes that follow (replay): the step departs from its schedule.
  void follow(const Schedule* schedule);
  const Schedule* schedule() const { return schedule_; }
  /// The same while the schedule is being made, on memory without bytes: backwards note what they find.
  void follow_making(ScheduleInMaking& making);
  ScheduleInMaking* making() const { return making_; }
  /// Of a draft: `of` will be differentiated now, which is noted and not done.
  void foresee_backward(const Value& of);
  /// From here to the next follow(), nothing is held against the schedule: what it tells of is over, or something has
  /// moved memory that no trace can know of. Nodes recorded now owe what they read, as without a schedule.
  void leave_schedule() {
    if (on_schedule()) memory_.note_departure();
    on_schedule_ = false;
  }
  bool on_schedule() const { return schedule_ && on_schedule_; }
  /// Writes of host code since follow() that have had owed bytes saved.
  std::uint64_t host_saves() const { return memory_.preserver().host_saves() - host_saves_start_; }
  /// Memory events since follow().
  Trail trail() const { return memory_.meter().trail_since(trail_start_); }
  /// What other tapes of this memory have done since follow(): nodes recorded and differentiated, handles let go of.
  std::uint64_t others_acts() const { return memory_.acts() - acts_ - others_start_; }
  /// Whether another tape of this memory has left its schedule since follow(): what it holds from there on this one's
  /// schedule does not know of.
  bool others_departed() const { return memory_.departures() != departures_start_; }
  void note_act() {
    ++acts_;
    memory_.note_act();
  }
  /// The backward that the schedule tells of next; null where there is none.
  const ScheduledBackward* next_backward() const;
  std::size_t next_backward_index() const { return next_backward_; }
  /// It has ended as told; after the last one the schedule is over.
  void end_scheduled_backward();

  // ---- guard mode (nothing happens where TapeOptions::guard is off)
  /// Ops that do not name `storage` may neither read nor write it, until clear(); states and leaves that ops are given
  /// are watched from then on anyway.
  void watch(const StorageRef& storage);
  /// Kernels may not move the position of `stream` themselves. It must outlive the tape.
  void watch(Stream& stream);
  Guard* guard() const { return guard_.get(); }

  // ---- for the engine, replay, explain and tests
  Memory& memory() { return memory_; }
  const TapeOptions& options() const { return options_; }
  bool grad_enabled() const { return no_grad_depth_ == 0 && options_.record; }
  TapeData& data() { return data_; }
  const TapeData& data() const { return data_; }
  Replayer* replayer() const { return replayer_; }
  /// A number as a constant scalar of `dtype`; made once per tape and value.
  Tensor constant(double number, DType dtype);
  Value make_handle(ValueId value);
  void release_handle(Handle* handle) noexcept;

 private:
  /// Lets the replayer note the surroundings of the segment just begun, which is given up if that fails.
  void note_context(std::uint32_t segment);
  std::uint32_t record(const Op& op, std::span<const Arg> operands, const Attrs& attrs, const ApplyOptions& options);

  Memory& memory_;
  TapeOptions options_;
  TapeData data_;
  std::unique_ptr<BuilderScratch> scratch_;
  std::unique_ptr<Guard> guard_;  // null unless options_.guard
  SegmentPolicy* policy_ = nullptr;
  Replayer* replayer_ = nullptr;
  TapeObserver* observer_ = nullptr;
  bool (*stop_)() = nullptr;
  const Schedule* schedule_ = nullptr;
  bool on_schedule_ = true;
  std::uint64_t host_saves_start_ = 0, others_start_ = 0;
  int no_grad_depth_ = 0;
  std::function<void(std::uint32_t)> node_hook_;
  ScheduleInMaking* making_ = nullptr;
  std::size_t next_backward_ = 0;  // of the schedule
  Trail trail_start_;
  std::uint64_t acts_ = 0, departures_start_ = 0;
};

}  // namespace reprise
