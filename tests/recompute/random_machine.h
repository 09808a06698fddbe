// What executes the instructions of random_program.h: leaves, states and aliases of them, a stream, hooks, and one tape
// or two of the same memory. Used by random_program.cpp and random_steps.cpp alone.
#pragma once

#include <deque>
#include <memory>

#include "autograd/hook.h"
#include "memory/byte_watch.h"
#include "tests/recompute/random_program.h"
#include "tests/support/lab.h"

namespace reprise::testing {

class Machine {
 public:
  enum class Mode : std::uint8_t { online, planned, dry };

  Machine(Method method, std::uint64_t seed, bool segments, Mode mode = Mode::online);

  /// The forward alone: its last value that wants a gradient, made a scalar; not defined where there is none.
  Value forward(const std::vector<Instruction>& program);
  /// What follows the forward of a planned step: perhaps a write that no tape is told of, then the backward. False
  /// where something was written that no schedule tells of.
  bool finish_planned(const Value& root);
  /// Forward and backward, online.
  Outcome run(const std::vector<Instruction>& program);

  // ---- for steps of several forwards and backwards
  /// `value_hooks` false: instructions for hooks on values are left out. They call host code in the backward, after
  /// which no schedule is followed.
  void begin_step(bool value_hooks) {
    stream_.position = 0;
    value_hooks_ = value_hooks;
  }
  /// Runs instructions on the present tape, as they are or as two segments. What they make is added to `values`.
  void record(const std::vector<Instruction>& program, bool two_segments, std::vector<Value>& values);
  /// 0, or 1: another tape of the same memory.
  void use_tape(std::size_t index) { tape_ = tapes_[index]; }
  Tape& tape(std::size_t index) { return *tapes_[index]; }
  /// A backward over the last values that want a gradient, at most `most`; false where there is none. Must leave every
  /// parameter, state and value handed out as it was, but for what hooks write.
  bool differentiate(const std::vector<Value>& values, std::size_t most, bool keep);
  /// Host code writes a state, which a dry trace knows of only if it does so too.
  void write_as_host(std::size_t state);
  bool is_dry() const { return lab_.memory.is_dry(); }
  int replays() const;
  /// Whether host code ran in a backward.
  bool called_back() const { return called_back_; }

  const std::vector<int>& effects() const { return effects_; }
  const std::string& changed() const { return changed_; }
  std::uint64_t position() const { return stream_.position; }
  /// Lets go of all that is left and gives the live bytes after that.
  std::int64_t free_all();
  Lab& lab() { return lab_; }
  Numbers gradients() const;
  Numbers states() const;

 private:
  /// Runs instructions until the end or a closing one; `depth` counts open segments.
  void block(const std::vector<Instruction>& program, std::size_t& at, std::vector<Value>& values, int depth);
  std::vector<Value> body(const std::vector<Instruction>& program, std::size_t& at, const std::vector<Value>& outer,
                          int depth);
  Arg operand(const std::vector<Value>& values, std::uint8_t pick);
  Tensor rows(std::uint8_t a, std::uint8_t b);
  void execute(const Instruction& i, std::vector<Value>& values);
  Value slice_mean(const Value& v);
  void write_in_hook(int tag, const Tensor& state);
  void backward(const std::vector<Value>& roots, const std::vector<Value>& values, bool keep);
  void differentiate_all(const std::vector<Value>& values, int choice);

  Memory indices_;  // outlives the tapes, whose nodes hold them
  Lab lab_;
  bool segments_, planned_;
  bool hooks_;           // hooks do something
  bool writes_between_;  // host code writes a state between forward and backward
  bool value_hooks_ = true, called_back_ = false;
  std::vector<LeafRef> leaves_;
  std::vector<Tensor> states_;
  Stream stream_{"r", 5, 1, 0};
  std::vector<int> effects_;
  std::deque<GradientHook> bodies_;  // nodes name them by address
  ByteWatch* watch_ = nullptr;       // while a backward runs
  std::string changed_;              // the first thing that one has changed
  TraceReplayer second_replayer_;
  Tape second_;
  Tape* tapes_[2];
  Tape* tape_;  // the one that is recorded on
};

}  // namespace reprise::testing
