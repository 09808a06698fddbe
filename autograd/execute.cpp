#include "autograd/execute.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace reprise {

void run_forward(Memory& memory, NodeRecord& node, const std::vector<TensorView>& operands,
                 const std::vector<TensorView>& results, bool replay, const GuardedCall* guarded, Mask given) {
  OpScope scope(memory.meter(), node.op->name);
  ForwardContext context;
  context.op = node.op;
  context.attrs = &node.attrs;
  context.inputs = node.inputs;
  context.updates = node.updates;
  context.results = static_cast<int>(results.size());
  context.operand_views = operands.data();
  context.result_views = results.data();
  context.draw = node.draw;
  context.replay = replay;
  context.given = given;
  StorageRef workspace;
  if (node.forward_workspace > 0) {
    workspace = Storage::create(memory.allocator(), nullptr, node.forward_workspace, Category::workspace);
    context.workspace = workspace->raw();
    context.workspace_bytes = node.forward_workspace;
  }
  ++node.runs;
  if (memory.is_dry()) return;
  context.run = node.runs;
  if (guarded)
    guarded->guard->forward(node, context, guarded->operands, guarded->stream);
  else
    node.op->forward(context);
}

std::size_t Serving::add(const Tensor& tensor, ReadId read) {
  entries_.push_back({tensor, read, {}, 0});
  return entries_.size() - 1;
}

/// Only what the view spans is copied, whose storage may be large.
void Serving::set_apart(Entry& entry) {
  Run window = entry.tensor.bounds();
  if (entry.read != kNoRead) {
    const Region& owed = preserver_.region(entry.read);
    if (!owed.empty()) window = {std::min(window.lo, owed.cover().lo), std::max(window.hi, owed.cover().hi)};
    entry.copy = preserver_.materialise(entry.read, window);
  } else {
    Storage& storage = entry.tensor.storage();
    entry.copy = Storage::create(storage.allocator(), nullptr, window.hi - window.lo, Category::preserved);
    const std::byte* bytes = storage.host_read();
    if (bytes && entry.copy->raw())
      std::memcpy(entry.copy->raw(), bytes + window.lo, static_cast<std::size_t>(window.hi - window.lo));
  }
  entry.from = window.lo;
}

void Serving::serve(bool apart) {
  reads_.clear();
  for (Entry& entry : entries_) {
    if (apart) {
      set_apart(entry);
      continue;
    }
    if (entry.read == kNoRead) {
      Storage& storage = entry.tensor.storage();
      if (storage.obligations > 0) preserver_.before_host_access(storage);
      continue;
    }
    bool conflict = std::any_of(entries_.begin(), entries_.end(), [&](const Entry& other) {
      if (&other == &entry || !(other.tensor.storage_ref() == entry.tensor.storage_ref())) return false;
      return other.read == kNoRead || preserver_.version(other.read) > preserver_.version(entry.read);
    });
    if (conflict && preserver_.broken(entry.read))
      entry.copy = preserver_.materialise(entry.read);
    else
      reads_.push_back(entry.read);
  }
  if (!reads_.empty()) preserver_.serve(reads_);
}

TensorView Serving::view(std::size_t at) const {
  const Entry& entry = entries_[at];
  TensorView view = entry.tensor.shape_view();
  std::byte* base = entry.copy              ? entry.copy->raw()
                    : entry.read == kNoRead ? entry.tensor.storage().raw()
                                            : preserver_.base(entry.read);
  view.data = base ? base + (entry.tensor.offset() * size_of(view.dtype) - entry.from) : nullptr;
  return view;
}

void Serving::clear() { entries_.clear(); }

}  // namespace reprise
