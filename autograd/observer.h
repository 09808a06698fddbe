// TapeObserver: someone who looks on while a backward runs: checks that compare gradients node by node, traces, and
// tests that make a node fail. What a method throws is a failure of the backward before that node, and can be resumed.
#pragma once

#include <cstdint>
#include <span>

#include "core/tensor.h"

namespace reprise {

class Tape;

class TapeObserver {
 public:
  virtual ~TapeObserver() = default;
  /// A backward begins: what it will visit is marked in the tape's data, and none of it has been visited.
  virtual void begin_backward(const Tape& /*tape*/) {}
  /// It has visited all of that. Must not throw.
  virtual void end_backward(const Tape& /*tape*/) {}
  /// A node is about to run again.
  virtual void before_replay(const Tape& /*tape*/, std::uint32_t /*node*/) {}
  /// A node's formula is about to run.
  virtual void before_backward(const Tape& /*tape*/, std::uint32_t /*node*/) {}
  /// Its formula has run: the gradient of each operand, not defined where none was made. Must not throw.
  virtual void after_backward(const Tape& /*tape*/, std::uint32_t /*node*/, std::span<const TensorView> /*gradients*/) {
  }
};

}  // namespace reprise
