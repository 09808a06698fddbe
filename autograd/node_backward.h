// NodeBackward: the context that one node's backward formula sees. Gradients that the contract hands through are handed
// through here, and targets are had for the others, before the formula runs; gradients are handed on only by commit(),
// which cannot fail.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "autograd/execute.h"
#include "autograd/tape.h"

namespace reprise {

/// Vectors that one node's backward needs, kept by the engine between nodes so that the walk allocates nothing in the
/// long run. One NodeBackward uses them at a time and leaves them empty.
struct BackwardScratch {
  struct Target {
    Tensor tensor;
    TensorView view;
    bool direct = false;  // the formula adds to the sum gathered so far
    bool first = false;   // the formula writes the accumulator itself, which counted as zero
    bool taken = false;   // its memory holds an output gradient, or what was saved, until the formula has run
    int others = 0;       // who else names that memory until the node is consumed
    bool made = false;    // the leaf's accumulator was made for this node, and goes again if it fails
    Tensor spare;         // for a sum of two gradients whose memory others share
  };
  std::vector<TensorView> in, out, grad_out;
  std::vector<Target> targets;
  std::vector<std::pair<TensorView*, std::size_t>> served;
  Serving serving;

  explicit BackwardScratch(Preserver& preserver) : serving(preserver) {}
};

class NodeBackward final : public BackwardContext {
 public:
  NodeBackward(Tape& tape, std::uint32_t node, BackwardScratch& scratch);
  ~NodeBackward();
  NodeBackward(const NodeBackward&) = delete;
  NodeBackward& operator=(const NodeBackward&) = delete;

  /// Serves what the formula saved, takes workspace and targets. Errors: replay, memory.
  void prepare();
  /// The gradient of each operand, handed through or made; for observers.
  std::vector<TensorView> gradients() const;
  /// Takes what handing on will need, so that commit() cannot fail. Before the formula runs, which may add to sums at
  /// once and then must not run again. Errors: memory.
  void stage();
  /// Tells the accumulators that commit() is about to write them. Errors: memory, where one is owed as state.
  void announce();
  /// Adds all gradients to their values and leaves.
  void commit() noexcept;

  // BackwardContext
  const TensorView& in(int index) const override;
  const TensorView& out(int index) const override;
  TensorView operand_shape(int index) const override;
  TensorView result_shape(int index) const override;
  const TensorView& grad_out(int index) const override { return grad_out_[index]; }
  const TensorView& grad_updated(int index) const override;
  bool wants(int index) const override { return (node_.wanted & ~passed_) >> index & 1; }
  const TensorView& grad(int index) override;
  bool accumulates(int index) const override { return targets_[index].direct; }

  /// Whether the formula has anything to make.
  bool has_work() const { return (node_.wanted & ~passed_) != 0; }
  /// The formula has run to its end: what it wrote stands, under guard too.
  void note_run() { has_run_ = true; }
  /// Asked where the formula, or what follows before commit(), has failed: whether the formula cannot run again,
  /// because it had begun to write where something is. Then the gradients that it was adding to count as parts.
  bool spoiled() noexcept;

 private:
  friend class Guard;
  using Target = BackwardScratch::Target;

  const Tensor& operand_tensor(int index) const;
  void save_accumulators();
  bool reads(const Tensor& sum) const;
  void serve_saved();
  void check_saved(const SeenValues& seen) const;
  int updated_result(int update) const;
  void pass_through();
  void pass(int index, int result);
  void make_target(int index);
  bool direct_target(int index);
  bool take_over(int index);
  bool take_gradient(int index);
  bool take_saved(int index);
  bool others_want_gradient(int index) const;
  const Tensor* last_use(const OpInfo::FromSaved& from) const;
  bool is_taken(const Tensor& source) const;
  bool appears_before(int index) const;
  std::int32_t holders(const Tensor& tensor) const;
  std::int32_t holders(const Target& target) const { return holders(target.tensor) - target.others; }
  void add_to_value(ValueId value, Target& target) noexcept;
  void add_to_leaf(Leaf& leaf, Target& target) noexcept;

  Tape& tape_;
  TapeData& data_;
  const std::uint32_t index_;
  const NodeRecord node_;  // a copy: hooks may record nodes while the formula runs
  BackwardScratch& scratch_;
  Serving& serving_;
  StorageRef workspace_;
  std::vector<TensorView>&in_, &out_, &grad_out_;
  std::vector<Target>& targets_;
  Mask passed_ = 0;
  bool has_run_ = false;
  std::atomic<Mask> begun_ = 0;  // targets that the formula has asked for, which threads of a kernel may do
};

}  // namespace reprise
