#include "autograd/guard.h"

#include <algorithm>

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

GuardFrame frame_of(const std::vector<StorageRef>& storages) {
  GuardFrame frame;
  for (const StorageRef& storage : storages) {
    if (storage->raw() && storage->bytes() > 0) frame.add(storage->raw(), storage->bytes(), storage_name(*storage));
  }
  return frame;
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

/// Like run(), but a failure counts as an outcome: on poisoned bytes a check inside the kernel may well refuse them.
template <class Run>
bool completes(const Run& run) {
  try {
    run();
    return true;
  } catch (const Error&) {
    return false;
  }
}

[[noreturn]] void fail_undeclared_write(const Op& op, const char* pass, int inputs, const GuardDifference& at) {
  const GuardBlock& block = *at.block;
  std::string bytes = at.bytes.describe();
  if (*pass) {
    fail(ErrorKind::internal,
         "[{}] its backward writes bytes {} of {}. A backward may write to grad(i) and its workspace only.", op.name,
         bytes, block.name);
  }
  if (block.operand < 0) {
    fail(ErrorKind::internal,
         "[{}] writes bytes {} of {}, which is no operand. Hand it to the op and name it in .updates.", op.name, bytes,
         block.name);
  }
  if (block.operand >= inputs) {
    fail(ErrorKind::internal,
         "[{}] writes bytes {} of {}, which .region does not give. Return all bytes that are written from .region.",
         op.name, bytes, block.name);
  }
  fail(ErrorKind::internal, "[{}] writes bytes {} of {}, which .updates does not name. Add it to .updates.", op.name,
       bytes, block.name);
}

[[noreturn]] void fail_undeclared_read(const Op& op, const char* pass, const GuardBlock* block) {
  if (!block) {
    fail(ErrorKind::internal,
         "[{}]{} reads bytes that its contract does not name. Name every storage that it reads in .inputs.", op.name,
         pass);
  }
  if (*pass) {
    fail(ErrorKind::internal, "[{}]{} reads {}, which .saves does not name for the wanted gradients. Add it to .saves.",
         op.name, pass, block->name);
  }
  if (block->operand >= 0) {
    fail(ErrorKind::internal,
         "[{}] reads bytes of {} outside the region that it declares. Return all bytes that are read from .region.",
         op.name, block->name);
  }
  fail(ErrorKind::internal,
       "[{}] reads {}, which its contract does not name. Hand it to the op and name it in .inputs.", op.name,
       block->name);
}

[[noreturn]] void fail_unwritten(const Op& op, const char* pass, const GuardDifference& at) {
  if (*pass) {
    fail(ErrorKind::internal,
         "[{}]{} leaves bytes {} of the {} unwritten, or adds to them. Write every element of grad(i), zeros included.",
         op.name, pass, at.bytes.describe(), at.block->name);
  }
  fail(ErrorKind::internal,
       "[{}] leaves bytes {} of {} unwritten, or computes with what was there. Write every element of each result.",
       op.name, at.bytes.describe(), at.block->name);
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
void run_again(GuardFrame& frame, const Op& op, const char* pass, const Run& run) {
  try {
    frame.reset(1);
    frame.poison();
    bool completed = completes(run);
    std::optional<GuardDifference> left;
    if (completed && (left = frame.unwritten(1))) fail_unwritten(op, pass, *left);
    if (!completed || frame.difference()) diagnose(frame, op, pass, run);
  } catch (...) {
    frame.restore_before();
    throw;
  }
  frame.restore_after();
}

/// What an op that says outputs_ignore_updates promises a replay: the outputs without the old bytes, and no write.
void check_replay_form(GuardFrame& frame, const Op& op, ForwardContext context) {
  context.replay = true;
  frame.reset(0);
  frame.poison_updates();
  std::vector<std::vector<std::byte>> states;
  for (const GuardBlock& block : frame.blocks) states.emplace_back(block.base, block.base + block.bytes);
  bool completed = completes([&] { op.forward(context); });
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
    fail(ErrorKind::internal,
         "[{}] takes {} numbers of stream '{}' by itself. Set .draws, say how many in infer (draws()), and use the "
         "range that the context gives.",
         op.name, taken, stream->name);
  }
}

void Guard::forward(const NodeRecord& node, ForwardContext& context, std::span<const GuardOperand> operands,
                    Stream* stream) {
  const Op& op = *node.op;
  let_go();
  GuardFrame frame = frame_of(storages_);
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
  run_again(frame, op, "", [&] {
    ++context.run;
    op.forward(context);
    check_streams(op);
  });
  context.run = run;
  if (op.outputs_ignore_updates && !context.replay && context.results > 0) check_replay_form(frame, op, context);
}

GuardFrame Guard::backward_frame(const NodeBackward& context) const {
  const Op& op = *context.op;
  const NodeRecord& node = context.node_;
  GuardFrame frame = frame_of(storages_);
  std::vector<TensorView> views;
  auto add_view = [&](const TensorView& view, std::string name) {
    if (!view.data || view.size() == 0) return;
    frame.add_view(view, std::move(name));
    views.push_back(view);
  };
  for (int i = 0; i < node.inputs + node.updates; ++i) add_view(context.in_[i], operand_title(op, node.inputs, i));
  int made = static_cast<int>(op.outputs.size() + op.made.size());
  for (int r = 0; r < node.results; ++r) {
    std::string name = r < made ? result_name(op, r) : std::string("new value of an update");
    add_view(context.out_[r], name);
    add_view(context.grad_out_[r], "gradient of " + name);
  }
  for (const TensorView& view : views) frame.allow(view.data, extent_of(view), true, false);
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
  run_again(frame, op, kBackward, [&] {
    op.backward(context);
    check_streams(op);
  });
}

}  // namespace reprise
