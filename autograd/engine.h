// The backward engine: visits nodes in exactly the reverse of recording order, has dropped segments replayed, serves
// what formulas saved, gathers gradients, and frees as it goes. Used by Tape::backward only.
//
// Invariant: a node's effects (gradients added, obligations ended) happen together after its formula has succeeded, so
// calling backward again after a failure goes on with the node that failed and every contribution happens once.
#pragma once

#include <span>
#include <vector>

#include "autograd/execute.h"
#include "autograd/node_backward.h"
#include "autograd/tape.h"

namespace reprise {

class BackwardEngine {
 public:
  explicit BackwardEngine(Tape& tape);

  void run(std::span<const Value> of, bool keep);

 private:
  /// All of a beginning that memory has no part in: seed() follows.
  void start(std::span<const Value> of, bool keep);
  void require_same(std::span<const Value> of, bool keep) const;
  void require_unspoiled() const;
  void mark(std::span<const Value> of);
  bool departs(std::span<const Value> of, bool keep) const;  // these four are in engine_schedule.cpp
  void require_foreseen() const;
  void note_beginning(std::span<const Value> of, bool keep);
  void meet_end();
  void seed(std::span<const Value> of);
  void walk();
  void visit(std::uint32_t index);
  bool has_gradient(const NodeRecord& node) const;
  void differentiate(std::uint32_t index);
  void run_formula(NodeBackward& context, std::uint32_t index);
  void consume(std::uint32_t index) noexcept;
  void enter_segment(std::uint32_t segment);
  void restore_operands(const NodeRecord& node);
  void leave_segment();
  void end_replay(std::uint32_t segment) noexcept;
  void finish_leaves(std::uint32_t lowest_left);
  void finish();

  Tape& tape_;
  TapeData& data_;
  BackwardState& state_;
  Preserver& preserver_;
  BackwardScratch scratch_;
};

}  // namespace reprise
