// Memory: what one run needs to hold bytes, in one object: the meter, behind `Allocator&` either the arena or, for a
// dry trace, the allocator without bytes, and the preserver, which is told before bytes of its storages change. Made
// before any storage of the run and destroyed after all of them.
#pragma once

#include <cstdint>
#include <optional>

#include "memory/arena.h"
#include "memory/backed_allocator.h"
#include "memory/dry_allocator.h"
#include "memory/fault_allocator.h"
#include "memory/meter.h"
#include "memory/preserver.h"

namespace reprise {

struct MemoryOptions {
  std::int64_t budget = 0;         // bytes; 0 is no cap
  bool timeline = false;           // record every change of the live bytes
  bool poison_freed = false;       // guard mode: fill new and freed blocks with 0xff
  bool dry = false;                // meter only: storages have no bytes
  std::int64_t machine_limit = 0;  // bytes the arena may hold; 0 asks the machine
};

class Memory {
 public:
  explicit Memory(const MemoryOptions& options = {}) {
    meter_.set_budget(options.budget);
    meter_.record_timeline(options.timeline);
    if (options.dry) {
      dry_.emplace(meter_);
    } else {
      arena_.emplace(meter_, options.machine_limit);
      arena_->poison_freed(options.poison_freed);
    }
    fault_.emplace(arena_ ? static_cast<Allocator&>(*arena_) : *dry_);
    if (dry_) backed_.emplace(*fault_);
    preserver_.emplace(*fault_);
  }

  Allocator& allocator() { return *fault_; }
  /// The same, with bytes on a dry run too: for tensors that say which bytes a step reads and writes. They are to be
  /// filled and marked constant at once.
  Allocator& backed_allocator() { return backed_ ? static_cast<Allocator&>(*backed_) : *fault_; }
  /// For tests: the n-th request from now (0: the next) is refused once with a memory error; negative: none.
  void fail_allocation(std::int64_t n) { fault_->fail_at(n); }
  Meter& meter() { return meter_; }
  const Meter& meter() const { return meter_; }
  /// Null unless this is a dry run.
  DryAllocator* dry() { return dry_ ? &*dry_ : nullptr; }
  /// Null on a dry run.
  Arena* arena() { return arena_ ? &*arena_ : nullptr; }
  bool is_dry() const { return dry_.has_value(); }

  /// A tape of this memory does something that may move memory; how often any did. So a tape knows whether others have.
  void note_act() { ++acts_; }
  std::uint64_t acts() const { return acts_; }

  /// A tape of this memory goes on without the schedule that it followed; how often one did.
  void note_departure() { ++departures_; }
  std::uint64_t departures() const { return departures_; }
  /// While one is in scope, a hook of a backward is at work: what it does with any tape no trace knows of.
  class InHook {
   public:
    explicit InHook(Memory& memory) : memory_(memory) { ++memory_.hooks_; }
    ~InHook() { --memory_.hooks_; }
    InHook(const InHook&) = delete;
    InHook& operator=(const InHook&) = delete;

   private:
    Memory& memory_;
  };
  bool in_hook() const { return hooks_ > 0; }

  Preserver& preserver() { return *preserver_; }
  /// Who is told before bytes change: given to every storage of the run that may be owed.
  WriteObserver* observer() { return &*preserver_; }

 private:
  Meter meter_;
  std::optional<Arena> arena_;
  std::optional<DryAllocator> dry_;
  std::optional<FaultAllocator> fault_;
  std::optional<BackedAllocator> backed_;  // of a dry run
  std::optional<Preserver> preserver_;     // gives its copies back before the arena goes
  std::uint64_t acts_ = 0, departures_ = 0;
  int hooks_ = 0;
};

}  // namespace reprise
