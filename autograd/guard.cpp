#include "autograd/guard.h"

#include <algorithm>

#include "autograd/guard_errors.h"
#include "autograd/guard_frame.h"
#include "autograd/node_backward.h"
#include "core/error.h"

namespace reprise {

namespace {

constexpr const char* kBackward = ": its backward";

/// "input x", "update queue".
std::string operand_title(const Op& op, int inputs, int index) {
  return fmt::format("{} {}", index >= inputs ? "update" : "input", operand_name(op, inputs, index));
}

std::string storage_name(const Storage& storage) {
  return storage.name().empty() ? fmt::format("an unnamed storage of {} bytes", storage.bytes())
                                : fmt::format("storage '{}'", storage.name());
}

std::string result_name(const Op& op, int index) {
  auto outputs = static_cast<int>(op.outputs.size());
  return fmt::format("result {}", index < outputs ? op.outputs[index] : op.made[index - outputs]);
}

/// Of all `storages` but those that `left_out` names.
template <class LeftOut>
GuardFrame frame_of(const std::vector<StorageRef>& storages, const LeftOut& left_out) {
  GuardFrame frame;
  for (const StorageRef& storage : storages) {
    if (!storage->raw() || storage->bytes() == 0 || left_out(storage)) continue;
    frame.add(storage->raw(), storage->bytes(), storage_name(*storage));
  }
  return frame;
}

/// What a replay is given of the results may be read and not written.
void add_given(const ForwardContext& context, GuardFrame& frame) {
  for (int r = 0; r < context.results; ++r) {
    const TensorView& view = context.result_views[r];
    if (!context.is_given(r) || view.size() == 0) continue;
    frame.add_view(view, result_name(*context.op, r)).given = true;
    frame.allow(view.data, extent_of(view), true, false);
  }
}

/// Runs the kernel so that the frame is put back to `before` if it throws.
template <class Run>
void run_or_restore(GuardFrame& frame, const Run& run) {
  try {
    run();
  } catch (...) {
    frame.restore_before();
    throw;
  }
}

/// Says of an op that it takes numbers of a stream by itself.
struct DrawsByItself : Error {
  using Error::Error;
};

/// Like run(), but a failure counts as an outcome: on poisoned bytes a check inside the kernel may well refuse them.
template <class Run>
bool completes(const Run& run) {
  try {
    run();
    return true;
  } catch (const DrawsByItself&) {
    throw;
  } catch (const std::exception&) {
    return false;
  }
}

/// Finds out why the second run (all that is hidden poisoned, other fills) gave other bytes than the first.
template <class Run>
void diagnose(GuardFrame& frame, const Op& op, const char* pass, const Run& run) {
  auto differs = [&] { return !completes(run) || frame.difference().has_value(); };
  frame.reset(0);
  if (differs()) {
    fail(ErrorKind::internal,
         "[{}]{} gives other bytes when it runs again on the same operands. Draw numbers through .draws and name "
         "state in .inputs or .updates; if it cannot repeat itself, set .nondeterministic.",
         op.name, pass);
  }
  frame.reset(1);
  if (differs()) {
    fail(
        ErrorKind::internal,
        "[{}]{} computes with bytes of its workspace or of its results that nobody has written. Initialise them first.",
        op.name, pass);
  }
  for (const GuardBlock& block : frame.blocks) {
    frame.reset(0);
    frame.poison(&block);
    if (differs()) fail_undeclared_read(op, pass, &block);
  }
  fail_undeclared_read(op, pass, nullptr);
}

/// Second run on poisoned surroundings, then everything as the first run left it.
template <class Run>
void run_again(GuardFrame& frame, const Op& op, const char* pass, int inputs, const Run& run) {
  try {
    frame.reset(1);
    frame.poison();
    bool completed = completes(run);
    std::optional<GuardDifference> left;
    if (auto write = frame.poison_written()) fail_undeclared_write(op, pass, inputs, *write);
    if (completed && (left = frame.unwritten(1))) fail_unwritten(op, pass, *left);
    if (!completed || frame.difference()) diagnose(frame, op, pass, run);
  } catch (...) {
    frame.restore_before();
    throw;
  }
  frame.restore_after();
}

/// What an op that says outputs_ignore_updates promises a replay: the outputs without the old bytes, and no write.
template <class Run>
void check_replay_form(GuardFrame& frame, const Op& op, const Run& run) {
  frame.reset(0);
  frame.poison_updates();
  std::vector<std::vector<std::byte>> states;
  for (const GuardBlock& block : frame.blocks) states.emplace_back(block.base, block.base + block.bytes);
  bool completed = completes(run);
  bool moved = false, other = !completed;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const GuardBlock& block = frame.blocks[i];
    if (block.scratch) continue;
    // Results may lie in memory taken over from an input, beside what the updates name.
    Region results = block.fresh ? Region::span(0, block.bytes) : subtract(block.may_write, block.updated);
    moved |= !subtract(differing(states[i].data(), block.base, block.bytes), results).empty();
    if (!block.keeps()) other |= differing(block.after.data(), block.base, block.bytes).overlaps(results);
  }
  frame.restore_before();
  if (moved) {
    fail(ErrorKind::internal,
         "[{}] says outputs_ignore_updates, but writes an update in a replay. Write only where writes(i) is true.",
         op.name);
  }
  if (other) {
    fail(ErrorKind::internal,
         "[{}] says outputs_ignore_updates, but its results change with an update's old bytes. Take the flag away.",
         op.name);
  }
  frame.restore_after();
}

}  // namespace

void Guard::watch(const StorageRef& storage) {
  if (!storage || storage->is_constant()) return;
  if (std::find(storages_.begin(), storages_.end(), storage) == storages_.end()) storages_.push_back(storage);
}

void Guard::watch(Stream& stream) {
  if (std::find(streams_.begin(), streams_.end(), &stream) == streams_.end()) streams_.push_back(&stream);
}

void Guard::clear() {
  storages_.clear();
  streams_.clear();
  seen_.clear();
}

void Guard::let_go() {
  std::erase_if(storages_, [](const StorageRef& storage) { return storage->ref_count() == 1; });
}

void Guard::note_streams(Stream* own) {
  noted_.clear();
  for (Stream* stream : streams_) noted_.emplace_back(stream, stream->position);
  if (own && std::find(streams_.begin(), streams_.end(), own) == streams_.end())
    noted_.emplace_back(own, own->position);
}

void Guard::check_streams(const Op& op) {
  for (auto [stream, position] : noted_) {
    if (stream->position == position) continue;
    std::uint64_t taken = stream->position - position;
    stream->position = position;
    throw DrawsByItself(ErrorKind::internal,
                        fmt::format("[{}] takes {} numbers of stream '{}' by itself. Set .draws, say how many in infer "
                                    "(draws()), and use the range that the context gives.",
                                    op.name, taken, stream->name));
  }
}

void Guard::forward(const NodeRecord& node, ForwardContext& context, std::span<const GuardOperand> operands,
                    Stream* stream) {
  const Op& op = *node.op;
  let_go();
  GuardFrame frame = frame_of(storages_, [](const StorageRef&) { return false; });
  for (const GuardOperand& operand : operands) {
    if (!operand.base || operand.bytes == 0) continue;
    GuardBlock& block = frame.add(operand.base, operand.bytes, "");
    bool update = operand.index >= node.inputs;
    if (block.operand < 0 || update) {
      block.operand = operand.index;
      block.name = operand_title(op, node.inputs, operand.index);
      block.dtype = context.operand_views[operand.index].dtype;
    }
    frame.allow(operand.base, operand.region, true, update);
    if (update) block.updated = unite(block.updated, shifted(operand.region, operand.base - block.base));
  }
  for (int r = 0; r < context.results; ++r) {
    if (!context.is_given(r)) frame.add_fresh(context.result_views[r], result_name(op, r));
  }
  add_given(context, frame);
  TensorView scratch{context.workspace, DType::u8, Shape{node.forward_workspace}, Strides{1}};
  if (context.workspace) frame.add_fresh(scratch, "workspace", true);
  frame.save_before();
  note_streams(stream);
  for (GuardBlock& block : frame.blocks) {
    if (block.fresh || block.scratch) fill_guard_pattern(block.base, block.bytes, block.dtype, 0);
  }
  run_or_restore(frame, [&] {
    op.forward(context);
    check_streams(op);
    if (auto write = frame.undeclared_write()) fail_undeclared_write(op, "", node.inputs, *write);
    if (auto left = frame.unwritten(0)) fail_unwritten(op, "", *left);
  });
  if (op.nondeterministic || op.effect) return;
  frame.save_after();
  std::uint32_t run = context.run;
  run_again(frame, op, "", node.inputs, [&] {
    ++context.run;
    op.forward(context);
    check_streams(op);
  });
  context.run = run;
  if (!op.outputs_ignore_updates || context.replay || context.results == 0) return;
  run_or_restore(frame, [&] {
    ForwardContext replay = context;
    replay.replay = true;
    check_replay_form(frame, op, [&] {
      op.forward(replay);
      check_streams(op);
    });
  });
}

/// Of what was saved exactly the bytes that are kept for the formula may be read: others of their storages may be of
/// any version. Gradients that the formula is to fill are left to allow_targets().
GuardFrame Guard::backward_frame(const NodeBackward& context) const {
  const Op& op = *context.op;
  const NodeRecord& node = context.node_;
  const TapeData& data = context.data_;
  GuardFrame frame = frame_of(storages_, [&](const StorageRef& storage) {
    return std::any_of(context.targets_.begin(), context.targets_.end(),
                       [&](const auto& target) { return target.tensor.storage_ref() == storage; });
  });
  std::vector<std::pair<std::byte*, Region>> readable;
  auto show = [&](const TensorView& view, const Tensor& tensor, Region kept, std::string name) {
    if (!view.data || view.size() == 0) return;
    std::byte* base = view.data - tensor.offset() * size_of(view.dtype);
    GuardBlock& block = frame.add(base, tensor.storage().bytes(), "");
    if (!block.saved) block.name = std::move(name), block.dtype = view.dtype;
    block.saved = true;
    readable.emplace_back(base, std::move(kept));
  };
  auto tensor_of = [&](ValueId id) -> const Tensor& {
    return data.values[id].replay.defined() ? data.values[id].replay : data.values[id].tensor;
  };
  for (int i = 0; i < node.inputs + node.updates; ++i) {
    const OperandRecord& operand = data.operands[node.first_operand + i];
    if (!context.in_[i].data) continue;
    const Tensor& tensor = operand.kind == OperandKind::value ? tensor_of(operand.value) : operand.tensor;
    bool owed = operand.kind != OperandKind::value && operand.read != kNoRead;
    show(context.in_[i], tensor, owed ? context.tape_.memory().preserver().region(operand.read) : tensor.region(),
         operand_title(op, node.inputs, i));
  }
  int made = static_cast<int>(op.outputs.size() + op.made.size());
  for (int r = 0; r < node.results; ++r) {
    std::string name = r < made ? result_name(op, r) : std::string("new value of an update");
    const Tensor& tensor = tensor_of(node.first_value + r);
    if (context.out_[r].data) show(context.out_[r], tensor, tensor.region(), name);
    const TensorView& gradient = context.grad_out_[r];
    if (!gradient.data || gradient.size() == 0) continue;
    frame.add_view(gradient, "gradient of " + name);
    readable.emplace_back(gradient.data, extent_of(gradient));
  }
  for (const auto& [base, bytes] : readable) frame.allow(base, bytes, true, false);
  if (context.workspace) {
    frame.add_fresh({context.workspace, DType::u8, Shape{node.backward_workspace}, Strides{1}}, "workspace", true);
  }
  return frame;
}

void Guard::allow_targets(const NodeBackward& context, GuardFrame& frame) const {
  const NodeRecord& node = context.node_;
  for (int i = 0; i < node.inputs + node.updates; ++i) {
    const auto& target = context.targets_[i];
    if (!context.wants(i)) continue;  // none, or handed through
    std::string name = "gradient of " + operand_title(*context.op, node.inputs, i);
    TensorView view = target.tensor.view();
    if (target.direct) {
      frame.add(view.data, view.bytes(), name).dtype = view.dtype;
      frame.allow(view.data, extent_of(view), true, true);
    } else {
      frame.add_fresh(view, name);
    }
  }
}

void Guard::backward(NodeBackward& context) {
  const Op& op = *context.op;
  if (op.effect) return op.backward(context);  // may call host code, whose ops are guarded one by one
  let_go();
  GuardFrame frame = backward_frame(context);
  allow_targets(context, frame);
  frame.save_before();
  note_streams(nullptr);
  for (GuardBlock& block : frame.blocks) {
    if (block.fresh || block.scratch) fill_guard_pattern(block.base, block.bytes, block.dtype, 0);
  }
  run_or_restore(frame, [&] {
    op.backward(context);
    check_streams(op);
    if (auto write = frame.undeclared_write()) fail_undeclared_write(op, kBackward, context.inputs, *write);
    if (auto left = frame.unwritten(0)) fail_unwritten(op, kBackward, *left);
  });
  if (op.nondeterministic) return;
  frame.save_after();
  run_again(frame, op, kBackward, context.inputs, [&] {
    op.backward(context);
    check_streams(op);
  });
}

}  // namespace reprise
