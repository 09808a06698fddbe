// NodeBuilder: what Tape::apply does, step by step. Used by tape.cpp only.
//
// Order matters: shapes, then regions (index checks), then what is owed, then memory, then announcements, then the
// kernel. Everything that can fail for the user's or memory's sake fails before a byte has moved or a write was
// announced.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "autograd/execute.h"
#include "autograd/tape.h"

namespace reprise {

/// Vectors that one apply() needs, kept between calls so that recording a node allocates nothing in the long run.
struct BuilderScratch {
  BuilderScratch() = default;
  BuilderScratch(const BuilderScratch&) = delete;
  BuilderScratch& operator=(const BuilderScratch&) = delete;
  ~BuilderScratch() {
    while (Handle* handle = free_handles) {
      free_handles = handle->next;
      delete handle;
    }
  }

  struct ResultPlan {
    DType dtype = DType::f32;
    Shape shape;
    Strides strides;
    std::int64_t offset = 0;
    Tensor tensor;
  };
  struct UpdatePlan {
    Tensor tensor;       // the bytes that the forward writes
    bool fresh = false;  // a copy of the old bytes, because other names share those
    int result = -1;     // position among the node's results if the update is a value
  };
  std::vector<OperandShape> shapes;
  std::vector<ResultPlan> results;
  std::vector<Region> regions;  // per operand; empty for values that are inputs
  std::vector<UpdatePlan> updates;
  std::vector<TensorView> operand_views, result_views;
  struct RecentConstant {
    std::uint64_t bits = 0;
    DType dtype = DType::f32;
    Tensor tensor;
  };
  std::array<RecentConstant, 8> constants;
  Handle* free_handles = nullptr;  // of values whose last handle went while the tape lives, along `next`
};

class NodeBuilder final : public InferContext {
 public:
  NodeBuilder(Tape& tape, BuilderScratch& scratch, const Op& op, std::span<const Arg> args, const Attrs& attrs,
              const ApplyOptions& options);

  /// Runs all steps; returns the node's position. After an error the tape is as it was.
  std::uint32_t build();

  // InferContext
  const Op& op() const override { return op_; }
  const Attrs& attrs() const override { return node_.attrs; }
  int operand_count() const override { return node_.inputs + node_.updates; }
  int input_count() const override { return node_.inputs; }
  const OperandShape& operand(int index) const override { return scratch_.shapes[index]; }
  void result(int index, DType dtype, const Shape& shape) override;
  void view_result(const Shape& shape, const Strides& strides, std::int64_t offset) override;
  void workspace(std::int64_t forward_bytes, std::int64_t backward_bytes) override;
  void draws(std::int64_t count) override { draw_count_ = count; }

 private:
  void resolve_operands();
  void resolve_one(OperandRecord& record, const Arg& arg);
  DType number_dtype() const;
  const Tensor& constant(double number, DType dtype);
  void infer();
  void find_gradients();
  void find_regions();
  std::uint64_t signature() const;
  void meet_schedule();
  void owe_reads();
  void owe_state(OperandRecord& record, int index);
  void allocate();
  bool take_over(int result);
  void plan_updates();
  void make_room();
  void announce();
  void run();
  void describe_for_guard(GuardedCall& call);
  void note_operands(SeenValues& seen);
  void note_results(SeenValues& seen);
  void commit() noexcept;
  void commit_result(int index, Tensor&& tensor, ValueId root);
  void commit_update(int update);
  void roll_back() noexcept;

  OperandRecord& record(int index) { return data_.operands[node_.first_operand + index]; }
  bool replayable() const { return replayable_; }
  bool is_private(const OperandRecord& operand) const;
  bool has_value_results() const;
  int declared(int operand) const;
  Mask expand(Mask declared) const;

  Tape& tape_;
  TapeData& data_;
  Preserver& preserver_;
  BuilderScratch& scratch_;
  const Op& op_;
  const OpInfo& info_;
  const ApplyOptions& options_;
  std::span<const Arg> args_;
  NodeRecord node_;
  std::int64_t draw_count_ = 0;
  Mask absent_ = 0;                         // operands that were left out
  bool replayable_ = false;                 // it is in a segment that will be replayed
  const ScheduledNode* planned_ = nullptr;  // what this node is by the schedule that the tape follows
  NodeChoice choice_;
};

}  // namespace reprise
