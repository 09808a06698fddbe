// EffectLog: what the ops of a step did to the world, in order: which states each wrote and with which bytes, what it
// drew, and how often it ran. Two logs say which op made two runs differ. Called by method_run.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/model.h"

namespace reprise {

/// A named thing and the hash of its bytes.
struct Mark {
  std::string name;
  std::uint64_t hash = 0;
  friend bool operator==(const Mark&, const Mark&) = default;
};

/// One node that writes state, draws or acts outside.
struct EffectMark {
  std::uint32_t node = 0;
  std::string op;
  std::string segment;       // the part of the model it stands in
  std::vector<Mark> writes;  // states of the model, with their bytes right after it
  std::string stream;        // that it drew from; empty: none
  std::uint64_t position = 0, count = 0;
  std::uint32_t runs = 0;  // of those that must run once: effects and pure writers
  /// Whether it did the same. Its number and place do not count: they follow from the nodes before it.
  bool does_as(const EffectMark& other) const {
    return op == other.op && writes == other.writes && stream == other.stream && position == other.position &&
           count == other.count && runs == other.runs;
  }
};

using EffectMarks = std::vector<EffectMark>;

std::uint64_t hash_tensor(const Tensor& tensor);

/// "add_into (node 7 in head)".
std::string node_text(const std::string& op, std::uint32_t node, const std::string& segment);

/// Takes down the nodes of one micro-batch while it lives; its tape must outlive it.
class EffectLog {
 public:
  EffectLog(Tape& tape, TrainableModel& model, EffectMarks& marks);
  ~EffectLog() { tape_.set_node_hook(nullptr); }
  EffectLog(const EffectLog&) = delete;
  EffectLog& operator=(const EffectLog&) = delete;

  /// After the backward and before the tape is cleared: only then is it known how often each node ran.
  void count_runs();

 private:
  void take_down(std::uint32_t index);

  Tape& tape_;
  TrainableModel& model_;
  EffectMarks& marks_;
  std::size_t first_;  // of this micro-batch, in marks_
};

/// The first op that did otherwise than expected, and what; empty where none did.
std::string differing_effect(const EffectMarks& expected, const EffectMarks& found);
/// Which op made the bytes of a state, or the position of a stream, another one; for a text that has named the thing.
std::string writer_of(const std::string& state, const EffectMarks& expected, const EffectMarks& found);
std::string drawer_of(const std::string& stream, const EffectMarks& expected, const EffectMarks& found);

}  // namespace reprise
