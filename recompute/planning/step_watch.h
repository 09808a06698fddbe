// StepWatch: looks on while a step is traced dry and takes down a Walk: the rows with their levels of live bytes, who
// keeps and owes what and until which row, and which nodes run again. Used by Walker only.
//
// What is owed is looked at as each backward begins and as the step ends: nothing else ends an obligation of a unit but
// a backward that visits it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "autograd/observer.h"
#include "autograd/tape.h"
#include "recompute/planning/walk.h"

namespace reprise {

class StepWatch final : public TapeObserver {
 public:
  /// Takes the tape's node hook and observer until it ends. Nothing counts while a draft is made.
  explicit StepWatch(Tape& tape);
  ~StepWatch();
  StepWatch(const StepWatch&) = delete;
  StepWatch& operator=(const StepWatch&) = delete;

  void begin_backward(const Tape&) override;
  void end_backward(const Tape&) override;
  void before_replay(const Tape&, std::uint32_t node) override;
  void before_backward(const Tape&, std::uint32_t node) override;
  /// The step has ended; its tape has not been cleared. Errors (user): it has recorded nothing.
  void end_step();
  /// What was found; the peak is that of the rows.
  Walk take();

 private:
  struct Owing {
    std::uint32_t until = 0;  // the last backward that found it owed as it began; after the last one: the step's end
    std::uint32_t nodes = 0;  // recorded by then
  };
  struct OwedValue {
    WalkedValue value;
    std::map<std::uint32_t, Owing> users;  // by unit
  };

  bool counts() const { return !tape_.making() || !tape_.making()->schedule.draft; }
  void after_node(std::uint32_t node);
  void note_lifetimes(std::uint32_t node);
  void inspect();
  void inspect_node(std::uint32_t node);
  void add_value(ValueId v, std::uint32_t unit);
  void add_read(const WalkedRead& read);
  int row_of(std::uint32_t unit, const Owing& owing) const;
  void count_level();
  void enter(int row);

  Tape& tape_;
  Units units_;
  StepRows rows_;
  std::vector<std::int64_t> levels_;      // per row
  std::uint32_t unit_ = 0;                // of the last node
  std::uint32_t nodes_ = 0;               // that units_ knows of
  int row_ = -1;                          // in which the step stands; none before its first node
  std::vector<std::uint32_t> last_node_;  // per root: of those in whose forward it was an operand or had a handle
  std::map<ValueId, OwedValue> values_;
  std::map<WalkedRead, Owing> reads_;
  std::vector<std::uint32_t> replays_;
  std::vector<std::vector<std::uint32_t>> needed_, restored_;  // as the first backward behind each segment found them
};

}  // namespace reprise
