// The part of NodeBuilder that holds a node against the schedule which its tape follows.

#include "autograd/node_builder.h"
#include "core/error.h"

namespace reprise {

namespace {

/// The words of `attrs` that are addresses.
Mask addresses(const Op& op, const Attrs& attrs) {
  Mask words = 0;
  int at = 0;
  for (const AttrSpec& spec : op.attrs) {
    if (at >= attrs.word_count()) break;
    if (spec.kind == AttrKind::address) words |= Mask{1} << at;
    at += spec.kind == AttrKind::dims ? attrs.dims_words(at) : 1;
  }
  return words;
}

}  // namespace

std::uint64_t NodeBuilder::signature() const {
  std::uint64_t hash = reinterpret_cast<std::uintptr_t>(&op_);
  auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  };
  auto mix_dims = [&](const Dims& dims) {
    for (std::int64_t d : dims) mix(static_cast<std::uint64_t>(d));
  };
  Mask skipped = addresses(op_, node_.attrs);
  for (int i = 0; i < node_.attrs.word_count(); ++i) {
    if (!(skipped >> i & 1)) mix(static_cast<std::uint64_t>(node_.attrs.word(i)));
  }
  for (const OperandShape& shape : scratch_.shapes) {
    mix(static_cast<std::uint64_t>(shape.dtype) * 16 + static_cast<std::uint64_t>(shape.shape.size()) * 2 +
        shape.present);
    mix_dims(shape.shape);
    mix_dims(shape.strides);
  }
  for (const Region& region : scratch_.regions) {
    mix(static_cast<std::uint64_t>(region.bytes()));
    mix(region.run_count());
    mix(static_cast<std::uint64_t>(region.cover().lo));
  }
  mix(node_.wanted);
  mix(node_.segment);
  mix(node_.draw.count);
  return hash;
}

void NodeBuilder::meet_schedule() {
  if (tape_.memory().is_dry()) node_.signature = signature();
  if (!tape_.on_schedule() || data_.backward.active) return;    // hooks may record what they like,
  if (tape_.memory().in_hook()) return tape_.leave_schedule();  // on other tapes than theirs too
  std::size_t index = data_.nodes.size();
  const Schedule& schedule = *tape_.schedule();
  if (index < schedule.choices.size()) choice_ = schedule.choices[index];
  if (schedule.draft) return;
  const std::vector<ScheduledNode>& nodes = schedule.nodes;
  const char* expected = index < nodes.size() ? nodes[index].op->name : "the end of the forward";
  if (index < nodes.size() && nodes[index].op == &op_ &&
      (nodes[index].signature == signature() || !tape_.schedule()->exact)) {
    planned_ = &nodes[index];
    return;
  }
  fail(ErrorKind::replay,
       "[{}] expected node {} of the step to be {}, got {}{}. The step departs from its schedule: host code took "
       "another way than when it was traced.",
       op_.name, index, expected, op_.name,
       expected == op_.name ? " with other shapes, attributes, regions or wanted gradients" : "");
}

}  // namespace reprise
