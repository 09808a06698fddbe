#include "autograd/tape.h"

#include "autograd/guard.h"
#include "autograd/lifetime.h"
#include "autograd/node_builder.h"
#include "autograd/replayer.h"
#include "autograd/segment.h"
#include "core/error.h"
#include "core/intern.h"
#include "core/recycled.h"

namespace reprise {

Tape::Tape(Memory& memory, TapeOptions options)
    : memory_(memory), options_(options), scratch_(std::make_unique<BuilderScratch>()) {
  if (options.guard && !memory.is_dry()) guard_ = std::make_unique<Guard>();
}

Tape::~Tape() { clear(); }

namespace {

const Storage* storage_of(const Arg& arg) {
  if (const Value* value = std::get_if<Value>(&arg.what())) {
    return value->tape().data().values[value->id()].tensor.storage_ref().get();
  }
  if (const Tensor* state = std::get_if<Tensor>(&arg.what())) return state->storage_ref().get();
  if (const LeafRef* leaf = std::get_if<LeafRef>(&arg.what())) return leaf_data(*leaf).storage_ref().get();
  return nullptr;
}

/// Whether an input shares memory with an update: the kernel would read bytes that it has written.
bool reads_what_it_writes(const Op& op, std::span<const Arg> operands, int input) {
  for (std::size_t u = operands.size() - op.updates.size(); u < operands.size(); ++u) {
    if (const Storage* storage = storage_of(operands[u]); storage && storage == storage_of(operands[input]))
      return true;
  }
  return false;
}

/// Whether an operand must become a contiguous value of its own first: an op that takes no strides, or a view of state
/// (a view would change with the state, and a value never does).
bool needs_copy(const Op& op, const Arg& arg) {
  if (std::holds_alternative<double>(arg.what()) || std::holds_alternative<std::monostate>(arg.what())) return false;
  const Value* value = std::get_if<Value>(&arg.what());
  if (op.view && !value) return true;
  if (op.strided) return false;
  if (value) return !value->tape().data().values[value->id()].tensor.contiguous();
  if (const Tensor* state = std::get_if<Tensor>(&arg.what())) return state->defined() && !state->contiguous();
  return !leaf_data(std::get<LeafRef>(arg.what())).contiguous();
}

const Op& copy_op() {
  const Op* op = copying_op();
  if (!op) fail(ErrorKind::internal, "[tape] no op that copies is registered: call register_builtin_ops() first");
  return *op;
}

}  // namespace

std::uint32_t Tape::record(const Op& op, std::span<const Arg> operands, const Attrs& attrs,
                           const ApplyOptions& options) {
  int first_update = static_cast<int>(operands.size()) - op.update_count();
  auto build = [&](std::span<const Arg> ready) {
    std::uint32_t node = NodeBuilder(*this, *scratch_, op, ready, attrs, options).build();
    if (node_hook_) node_hook_(node);
    return node;
  };
  if (op.strided && !op.view && op.updates.empty()) return build(operands);  // then nothing below applies
  for (int i = 0; i < static_cast<int>(operands.size()); ++i) {
    bool copy = i < first_update && (needs_copy(op, operands[i]) || reads_what_it_writes(op, operands, i));
    if (!copy) continue;
    RecycledVector<Arg> plain(operands.begin(), operands.end());
    for (int j = i; j < first_update; ++j) {
      if (needs_copy(op, plain[j]) || reads_what_it_writes(op, plain, j))
        plain[j] = Arg(apply_one(copy_op(), {plain[j]}));
    }
    return build(plain);
  }
  return build(operands);
}

std::vector<Value> Tape::apply(const Op& op, std::span<const Arg> operands, const Attrs& attrs,
                               const ApplyOptions& options) {
  std::vector<Value> outputs;
  outputs.reserve(op.outputs.size());
  std::uint32_t node = record(op, operands, attrs, options);
  for (int i = 0; i < data_.nodes[node].outputs; ++i) outputs.push_back(make_handle(data_.nodes[node].first_value + i));
  return outputs;
}

Value Tape::apply_one(const Op& op, std::initializer_list<Arg> operands, const Attrs& attrs,
                      const ApplyOptions& options) {
  std::uint32_t node = record(op, std::span(operands.begin(), operands.size()), attrs, options);
  Value output = make_handle(data_.nodes[node].first_value);
  for (int i = 1; i < data_.nodes[node].outputs; ++i) {
    release_if_unneeded(data_, memory_.preserver(), data_.nodes[node].first_value + i);
  }
  return output;
}

void Tape::apply_none(const Op& op, std::initializer_list<Arg> operands, const Attrs& attrs,
                      const ApplyOptions& options) {
  record(op, std::span(operands.begin(), operands.size()), attrs, options);
}

Tensor Tape::constant(double number, DType dtype) {
  Tensor& tensor = data_.constants[{static_cast<int>(dtype), std::bit_cast<std::uint64_t>(number)}];
  if (!tensor.defined()) {
    tensor = make_tensor(memory_.allocator(), nullptr, dtype, Shape{}, Category::workspace);
    if (!memory_.is_dry()) store_as_double(tensor.view(), 0, number);
    tensor.storage().mark_constant();
  }
  return tensor;
}

// ---- handles

Value Tape::make_handle(ValueId value) {
  ValueRecord& record = data_.values[value];
  if (!record.handle) {
    Handle* handle = scratch_->free_handles;
    if (handle)
      scratch_->free_handles = handle->next;
    else
      handle = new Handle;
    handle->tape = this;
    handle->value = value;
    handle->prev = nullptr;
    handle->next = data_.live_handles;
    if (handle->next) handle->next->prev = handle;
    data_.live_handles = handle;
    record.handle = handle;
    ++data_.values[record.root].alias_handles;
  }
  return Value(Ref<Handle>(record.handle));
}

void Tape::release_handle(Handle* handle) noexcept {
  if (handle->prev)
    handle->prev->next = handle->next;
  else
    data_.live_handles = handle->next;
  if (handle->next) handle->next->prev = handle->prev;
  ValueRecord& record = data_.values[handle->value];
  record.handle = nullptr;
  --data_.values[record.root].alias_handles;
  ValueId value = handle->value;
  handle->next = scratch_->free_handles;
  scratch_->free_handles = handle;
  note_act();
  release_if_unneeded(data_, memory_.preserver(), value);
}

void Handle::destroy(Handle* handle) noexcept {
  if (handle->tape)
    handle->tape->release_handle(handle);
  else
    delete handle;
}

// ---- guard mode

void Tape::watch(const StorageRef& storage) {
  if (guard_) guard_->watch(storage);
}

void Tape::watch(Stream& stream) {
  if (guard_) guard_->watch(stream);
}

// ---- segments

std::uint32_t Tape::begin_segment(std::string_view name) {
  if (name.empty()) fail(ErrorKind::user, "[segment] expected a name, got an empty one");
  const char* label = intern(name);
  if (data_.open_segment != kNone || !options_.record) {
    data_.segment_stack.push_back(label);
    return data_.open_segment;
  }
  auto index = static_cast<std::uint32_t>(data_.segments.size());
  SegmentOption option = policy_ ? policy_->choose(label, index) : SegmentOption{};
  if (option.values == ValueOption::replay && !replayer_) {
    fail(ErrorKind::user,
         "[segment] expected a replayer for the replayed segment '{}', got none. Call set_replayer() first", name);
  }
  grow_room(data_.segments, 1);
  data_.segment_stack.push_back(label);
  SegmentInstance& instance = data_.segments.emplace_back();
  instance.name = label;
  instance.option = option;
  instance.first_node = static_cast<std::uint32_t>(data_.nodes.size());
  instance.first_value = static_cast<ValueId>(data_.values.size());
  data_.open_segment = index;
  if (instance.replayable()) note_context(index);
  return index;
}

void Tape::note_context(std::uint32_t segment) {
  try {
    replayer_->note_context(*this, segment);
  } catch (...) {
    abort_segment();  // the caller holds none that it could close: it has not begun
    throw;
  }
}

void Tape::end_segment(std::span<const ValueId> outputs) {
  if (data_.segment_stack.empty()) return;  // its body has cleared the tape
  if (data_.segment_stack.size() > 1 || data_.open_segment == kNone) {
    data_.segment_stack.pop_back();
    return;
  }
  std::uint32_t index = data_.open_segment;
  SegmentInstance& instance = data_.segments[index];
  try {
    if (instance.replayable()) replayer_->note_context(*this, index);
    instance.end_node = static_cast<std::uint32_t>(data_.nodes.size());
    instance.end_value = static_cast<ValueId>(data_.values.size());
    instance.outputs.assign(outputs.begin(), outputs.end());
    if (instance.option.run != 0 && instance.option.run_ends) prepare_run(*this, index);
    update_needed(*this, index, true);
  } catch (...) {
    instance.outputs.clear();  // as where its body threw: the end of its run lets go of nothing that was not restored
    abort_segment();           // the caller holds none that it could close: its body is through
    throw;
  }
  data_.segment_stack.pop_back();
  data_.open_segment = kNone;
  instance.closed = true;
  if (instance.option.run != 0 && instance.option.run_ends) close_run(*this, index);
}

void Tape::abort_segment() noexcept {
  if (data_.segment_stack.size() == 1 && data_.open_segment != kNone) {
    SegmentInstance& instance = data_.segments[data_.open_segment];
    instance.end_node = static_cast<std::uint32_t>(data_.nodes.size());
    instance.end_value = static_cast<ValueId>(data_.values.size());
    for (std::uint32_t n = instance.first_node; n < instance.end_node; ++n) {
      NodeRecord& node = data_.nodes[n];
      node.aborted = true;
      drop_formula(data_, memory_.preserver(), node);
      drop_replay(data_, memory_.preserver(), node);
    }
    data_.open_segment = kNone;
  }
  if (!data_.segment_stack.empty()) data_.segment_stack.pop_back();  // empty: its body has cleared the tape
}

// ---- planned steps

void Tape::follow(const Schedule* schedule) {
  if (schedule && !data_.nodes.empty())
    fail(ErrorKind::user, "[follow] expected an empty tape, got {} nodes", data_.nodes.size());
  if (Arena* arena = memory_.arena()) arena->follow(schedule ? &schedule->placement : nullptr);
  schedule_ = schedule;
  making_ = nullptr;
  next_backward_ = 0;
  on_schedule_ = !schedule || schedule->draft || !schedule->backwards.empty();
  trail_start_ = memory_.meter().trail();
  host_saves_start_ = memory_.preserver().host_saves();
  others_start_ = memory_.acts() - acts_;
  departures_start_ = memory_.departures();
}

void Tape::follow_making(ScheduleInMaking& making) {
  follow(&making.schedule);
  making_ = &making;
}

const ScheduledBackward* Tape::next_backward() const {
  return next_backward_ < schedule_->backwards.size() ? &schedule_->backwards[next_backward_] : nullptr;
}

void Tape::end_scheduled_backward() {
  if (++next_backward_ == schedule_->backwards.size()) on_schedule_ = false;
}

// ---- the end of a step

void Tape::clear() {
  abandon_backward();
  if (!data_.nodes.empty()) note_act();
  Preserver& preserver = memory_.preserver();
  for (NodeRecord& node : data_.nodes) {
    drop_formula(data_, preserver, node);
    drop_replay(data_, preserver, node);
  }
  for (Handle* handle = data_.live_handles; handle; handle = handle->next) handle->tape = nullptr;
  data_.live_handles = nullptr;
  for (ValueRecord& value : data_.values) {
    if (value.read != kNoRead) preserver.drop(value.read);
    if (value.replay_read != kNoRead) preserver.drop(value.replay_read);
  }
  if (!data_.nodes.empty()) ++data_.step;
  data_.nodes.clear();
  data_.values.clear();
  data_.operands.clear();
  data_.segments.clear();
  data_.segment_stack.clear();
  data_.open_segment = kNone;
  for (auto& recent : scratch_->constants) recent.tensor = Tensor();
  data_.constants.clear();
  if (schedule_ && memory_.arena()) memory_.arena()->forget(&schedule_->placement);
  schedule_ = nullptr;
  making_ = nullptr;
  if (data_.data_dependent) preserver.set_bounding(false);
  data_.data_dependent = false;
  if (guard_) guard_->clear();
}

}  // namespace reprise
