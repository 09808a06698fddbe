#include "autograd/node_builder.h"

#include "autograd/array.h"
#include "autograd/lifetime.h"
#include "core/error.h"

namespace reprise {

namespace {

// Records are made as copies of blank ones: what the compiler makes of `T()` here is a slow string instruction that
// zeroes all bytes first.
const BuilderScratch::ResultPlan kBlankResult;
const BuilderScratch::UpdatePlan kBlankUpdate;
const TensorView kBlankView;

/// Writes the view over what stands in `to`: no temporary is made and copied.
void put_view(const Tensor& tensor, TensorView* to) {
  std::byte* base = tensor.storage().raw();
  to->data = base ? base + tensor.offset() * size_of(tensor.dtype()) : nullptr;
  to->dtype = tensor.dtype();
  to->shape = tensor.shape();
  to->strides = tensor.strides();
}

}  // namespace

NodeBuilder::NodeBuilder(Tape& tape, BuilderScratch& scratch, const Op& op, std::span<const Arg> args,
                         const Attrs& attrs, const ApplyOptions& options)
    : tape_(tape),
      data_(tape.data()),
      preserver_(tape.memory().preserver()),
      scratch_(scratch),
      op_(op),
      info_(info_of(op)),
      options_(options),
      args_(args) {
  node_.op = &op;
  node_.info = &info_;
  node_.attrs = attrs;
  node_.label = options.label ? options.label : (data_.segment_stack.empty() ? "" : data_.segment_stack.back());
}

std::uint32_t NodeBuilder::build() {
  node_.first_operand = static_cast<std::uint32_t>(data_.operands.size());
  node_.first_value = static_cast<std::uint32_t>(data_.values.size());
  node_.segment = tape_.options().record ? data_.open_segment : kNone;
  replayable_ = node_.segment != kNone && data_.segments[node_.segment].replayable();
  OpScope scope(tape_.memory().meter(), op_.name);
  tape_.note_act();
  try {
    resolve_operands();
    infer();
    find_gradients();
    find_regions();
    meet_schedule();
    owe_reads();
    allocate();
    plan_updates();
    make_room();
    announce();
    run();
  } catch (...) {
    roll_back();
    throw;
  }
  commit();
  return static_cast<std::uint32_t>(data_.nodes.size() - 1);
}

void NodeBuilder::infer() {
  scratch_.results.resize(op_.outputs.size() + op_.made.size(), kBlankResult);
  for (auto& plan : scratch_.results) {  // what an earlier node left here; the tensors went to its values
    plan.dtype = DType::f32;
    plan.shape = kBlankResult.shape;
    plan.strides = kBlankResult.strides;
    plan.offset = 0;
  }
  op_.infer(*this);
  node_.draw.count = static_cast<std::uint64_t>(draw_count_);
  if (op_.draws) {
    if (!options_.stream) fail(ErrorKind::user, "[{}] expected a random stream, got none", op_.name);
    node_.draw.seed = options_.stream->seed;
    node_.draw.id = options_.stream->id;
    node_.draw.position = options_.stream->position;
  }
}

void NodeBuilder::result(int index, DType dtype, const Shape& shape) {
  auto& plan = scratch_.results[index];
  plan.dtype = dtype;
  plan.shape = shape;
  plan.strides = contiguous_strides(shape);
  plan.offset = 0;
}

void NodeBuilder::view_result(const Shape& shape, const Strides& strides, std::int64_t offset) {
  auto& plan = scratch_.results[0];
  plan.dtype = scratch_.shapes[0].dtype;
  plan.shape = shape;
  plan.strides = strides;
  plan.offset = offset;
}

void NodeBuilder::workspace(std::int64_t forward_bytes, std::int64_t backward_bytes) {
  node_.forward_workspace = forward_bytes;
  node_.backward_workspace = backward_bytes;
}

int NodeBuilder::declared(int operand) const {
  int n = op_.input_count();
  if (operand >= node_.inputs) return n + operand - node_.inputs;
  return std::min(operand, n - 1);
}

Mask NodeBuilder::expand(Mask mask) const {
  if (!op_.variadic) return mask;
  Mask all = 0;
  for (int i = 0; i < node_.inputs + node_.updates; ++i) all |= (mask >> declared(i) & 1) << i;
  return all;
}

bool NodeBuilder::has_value_results() const {
  if (!op_.outputs.empty()) return true;
  for (int u = 0; u < node_.updates; ++u) {
    if (data_.operands[node_.first_operand + node_.inputs + u].kind == OperandKind::value) return true;
  }
  return false;
}

void NodeBuilder::find_gradients() {
  if (!tape_.grad_enabled() || !info_.differentiable || !has_value_results()) return;
  for (int i = 0; i < node_.inputs + node_.updates; ++i) {
    int d = declared(i);
    if (!(info_.differentiable >> d & 1)) continue;
    const OperandRecord& operand = record(i);
    bool wants = false;
    if (operand.kind == OperandKind::value) wants = data_.values[operand.value].requires_grad;
    if (operand.kind == OperandKind::leaf) wants = operand.leaf->requires_grad && i < node_.inputs;
    if (!wants || !is_floating(scratch_.shapes[i].dtype)) continue;
    node_.wanted |= Mask{1} << i;
    node_.saved_operands |= expand(info_.needs_operands[d]);
    node_.saved_results |= info_.needs_results[d];
  }
  node_.saved_operands &= ~absent_;
}

bool NodeBuilder::is_private(const OperandRecord& operand) const {
  return operand.kind == OperandKind::value && data_.values[operand.value].segment == node_.segment;
}

void NodeBuilder::owe_reads() {
  if (!tape_.options().record) return;
  bool replay = replayable() && has_value_results();
  for (int i = 0; i < node_.inputs + node_.updates; ++i) {
    OperandRecord& operand = record(i);
    if (operand.kind == OperandKind::absent) continue;
    if (operand.kind == OperandKind::value) operand.seen = data_.values[operand.value].tensor.storage().clock();
    Mask bit = Mask{1} << i;
    if (replayable() && is_private(operand)) continue;
    bool state_update = i >= node_.inputs && operand.kind != OperandKind::value;
    bool for_replay = replay && !(state_update && op_.outputs_ignore_updates);
    bool for_formula = node_.saved_operands & bit;
    if (planned_) {
      for_replay = for_replay && (planned_->replay_operands & bit);
      for_formula = for_formula && (planned_->formula_operands & bit);
    }
    if (operand.kind == OperandKind::value) {
      if (for_formula) node_.owed_operands |= bit, owe_value(data_, operand.value);
      if (for_replay) node_.replay_operands |= bit, owe_value(data_, operand.value);
    } else if ((for_formula || for_replay) && !operand.tensor.storage().is_constant()) {
      owe_state(operand, i);
      if (for_formula) node_.owed_operands |= bit;
      if (for_replay) node_.replay_operands |= bit;
    }
  }
}

void NodeBuilder::owe_state(OperandRecord& operand, int index) {
  StateOption option = StateOption::whole;
  const char* segment = "";
  if (node_.segment != kNone) {
    option = data_.segments[node_.segment].option.state;
    segment = data_.segments[node_.segment].name;
  }
  int d = declared(index);
  const char* name = index < node_.inputs ? op_.inputs[d] : op_.updates[index - node_.inputs];
  operand.read = preserver_.owe(operand.tensor.storage(), scratch_.regions[index], option, {segment, op_.name, name});
}

/// Note: what the formula saves is taken over too where it was born in this segment and the segment will be replayed:
/// nobody asks for the bytes of this forward again, the replay makes others. What is kept of them all the same is owed.
bool NodeBuilder::take_over(int result) {
  auto& plan = scratch_.results[result];
  for (auto [input, to] : info_.reuse) {
    if (to != result || input >= node_.inputs) continue;
    const OperandRecord& operand = record(input);
    if (operand.kind != OperandKind::value) continue;
    ValueRecord& value = data_.values[operand.value];
    const Value* handle = std::get_if<Value>(&args_[input].what());
    if (value.owed > 0 || !value.handle || !handle || value.handle->ref_count() != 1) continue;
    if (value.tensor.storage().ref_count() != 1 || value.tensor.dtype() != plan.dtype) continue;
    if (!(value.tensor.shape() == plan.shape) || !value.tensor.contiguous()) continue;
    bool made_again = replayable() && is_private(operand);
    if (!made_again && (node_.saved_operands >> input & 1)) continue;
    plan.tensor = value.tensor.with_view(plan.shape, plan.strides, value.tensor.offset());
    return true;
  }
  return false;
}

void NodeBuilder::allocate() {
  if (op_.view) {
    const OperandRecord& operand = record(0);
    const Tensor& base = tensor_of(data_, operand);
    auto& plan = scratch_.results[0];
    plan.tensor = base.with_view(plan.shape, plan.strides, base.offset() + plan.offset);
    return;
  }
  for (int r = 0; r < static_cast<int>(scratch_.results.size()); ++r) {
    auto& plan = scratch_.results[r];
    if (!take_over(r)) {
      std::int64_t bytes = element_count(plan.shape) * size_of(plan.dtype);
      plan.tensor = Tensor(Storage::create(tape_.memory().allocator(), &preserver_, bytes, Category::activations),
                           plan.dtype, plan.shape, plan.strides, 0);
    }
  }
}

void NodeBuilder::plan_updates() {
  int next_result = static_cast<int>(scratch_.results.size());
  if (node_.updates > 0) scratch_.updates.assign(node_.updates, kBlankUpdate);
  for (int u = 0; u < node_.updates; ++u) {
    auto& plan = scratch_.updates[u];
    const OperandRecord& operand = record(node_.inputs + u);
    if (operand.kind != OperandKind::value) {
      plan.tensor = operand.tensor;
      continue;
    }
    plan.result = next_result++;
    ValueRecord& value = data_.values[operand.value];
    plan.tensor = value.tensor;
    if (data_.values[value.root].alias_handles > 1 || value.tensor.storage().is_constant()) {
      plan.fresh = true;
      if (value.tensor.storage().obligations > 0) preserver_.before_host_access(value.tensor.storage());
      plan.tensor = make_tensor(tape_.memory().allocator(), &preserver_, value.tensor.dtype(), value.tensor.shape(),
                                Category::activations);
      copy_strided(value.tensor.view(), plan.tensor.view());
    }
  }
  node_.results = static_cast<std::uint16_t>(next_result);
}

void NodeBuilder::announce() {
  for (int u = 0; u < node_.updates; ++u) {
    const auto& plan = scratch_.updates[u];
    const OperandRecord& operand = record(node_.inputs + u);
    if (operand.kind == OperandKind::value && !plan.fresh) owe_aliases(data_, preserver_, operand.value);
  }
  for (int u = 0; u < node_.updates; ++u) {
    const auto& plan = scratch_.updates[u];
    if (plan.fresh) continue;
    auto node = static_cast<std::int64_t>(data_.nodes.size());
    Writer writer{op_.name, node, preserve_by(choice_, u), data_.step};
    plan.tensor.storage().announce(scratch_.regions[node_.inputs + u], writer);
  }
}

void NodeBuilder::run() {
  if (op_.view) return;
  auto& operand_views = scratch_.operand_views;
  auto& result_views = scratch_.result_views;
  operand_views.resize(static_cast<std::size_t>(node_.inputs + node_.updates), kBlankView);
  result_views.resize(scratch_.results.size(), kBlankView);
  for (int i = 0; i < node_.inputs + node_.updates; ++i) {
    const OperandRecord& operand = record(i);
    if (i >= node_.inputs) {
      put_view(scratch_.updates[i - node_.inputs].tensor, &operand_views[i]);
    } else if (operand.kind == OperandKind::absent) {
      operand_views[i] = kBlankView;
    } else {
      const Tensor& tensor = tensor_of(data_, operand);
      if (tensor.storage().obligations > 0) preserver_.before_host_access(tensor.storage());
      put_view(tensor, &operand_views[i]);
    }
  }
  for (std::size_t r = 0; r < result_views.size(); ++r) put_view(scratch_.results[r].tensor, &result_views[r]);
  if (!tape_.guard()) {
    run_forward(tape_.memory(), node_, scratch_.operand_views, scratch_.result_views, false);
    return;
  }
  GuardedCall call{tape_.guard(), {}, options_.stream};
  describe_for_guard(call);
  note_operands(call.guard->seen());
  run_forward(tape_.memory(), node_, scratch_.operand_views, scratch_.result_views, false, &call);
  note_results(call.guard->seen());
}

/// What a formula or a replay of this node will be shown again.
void NodeBuilder::note_operands(SeenValues& seen) {
  if (!tape_.options().record) return;
  seen.begin_node(node_.first_operand, node_.first_value, node_.results);
  for (int i = 0; i < node_.inputs + node_.updates; ++i) {
    const OperandRecord& operand = record(i);
    bool shown = replayable() || (node_.saved_operands >> i & 1);
    if (operand.kind != OperandKind::value || !shown) continue;
    const Tensor& tensor =
        i < node_.inputs ? data_.values[operand.value].tensor : scratch_.updates[i - node_.inputs].tensor;
    seen.note_operand(node_.first_operand + static_cast<std::uint32_t>(i), scratch_.operand_views[i], tensor.storage());
  }
}

void NodeBuilder::note_results(SeenValues& seen) {
  if (!tape_.options().record) return;
  auto note = [&](int result, const Tensor& tensor) {
    if (!(node_.saved_results >> result & 1)) return;
    seen.note_result(node_.first_value + static_cast<ValueId>(result), tensor.view(), tensor.storage());
  };
  for (std::size_t r = 0; r < scratch_.results.size(); ++r) note(static_cast<int>(r), scratch_.results[r].tensor);
  for (int u = 0; u < node_.updates; ++u) {
    const auto& plan = scratch_.updates[u];
    if (plan.result >= 0) note(plan.result, plan.tensor);
  }
}

/// Values that are inputs may be read whole; of everything else the contract names a region.
void NodeBuilder::describe_for_guard(GuardedCall& call) {
  for (int i = 0; i < node_.inputs + node_.updates; ++i) {
    const OperandRecord& operand = record(i);
    if (operand.kind == OperandKind::absent) continue;
    bool update = i >= node_.inputs;
    const Tensor& tensor = update ? scratch_.updates[i - node_.inputs].tensor : tensor_of(data_, operand);
    bool whole = update ? scratch_.updates[i - node_.inputs].fresh
                        : operand.kind == OperandKind::value || tensor.storage().is_constant();
    if (operand.kind != OperandKind::value) call.guard->watch(tensor.storage_ref());
    if (operand.kind == OperandKind::leaf && operand.leaf->grad.defined())
      call.guard->watch(operand.leaf->grad.storage_ref());  // the engine writes it; no op may
    call.operands.push_back(
        {i, tensor.storage().raw(), tensor.storage().bytes(), whole ? tensor.region() : scratch_.regions[i]});
  }
}

void NodeBuilder::roll_back() noexcept {
  for (int i = 0; node_.first_operand + i < data_.operands.size(); ++i) {
    OperandRecord& operand = record(i);
    Mask bit = Mask{1} << i;
    if (operand.kind == OperandKind::value) {
      if (node_.owed_operands & bit) --data_.values[operand.value].owed;
      if (node_.replay_operands & bit) --data_.values[operand.value].owed;
    } else if (operand.read != kNoRead) {
      preserver_.drop(operand.read);
    }
  }
  data_.operands.resize(node_.first_operand);
  scratch_.results.clear();
  scratch_.updates.clear();
}

}  // namespace reprise
