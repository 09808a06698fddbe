// Meter: live and peak bytes by category, the hard cap, and a timeline of events on request.
//
// Every allocator of a run charges the same meter, with sizes rounded up to 64 bytes, so the peak it reports is the
// peak of all memory that a step holds. Used from the step's thread only. An add that was refused has changed nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/allocator.h"

namespace reprise {

class Error;

using CategoryBytes = std::array<std::int64_t, kCategoryCount>;

/// "parameters 640, activations 128": the `most` largest, largest first; "nothing" where all are 0.
std::string describe_bytes(const CategoryBytes& bytes, std::size_t most = kCategoryCount);

/// All counts at one moment. Bytes.
struct MeterSnapshot {
  CategoryBytes live{};
  CategoryBytes peak{};     // each category's own highest level since the last reset
  CategoryBytes at_peak{};  // how the highest total was made up
  std::int64_t total_live = 0;
  std::int64_t total_peak = 0;
  std::uint64_t events = 0;
};

/// A count of changes and a hash of their sequence, each its category and size: equal steps leave equal trails.
struct Trail {
  std::uint64_t events = 0;
  std::uint64_t hash = 0;
  friend bool operator==(const Trail&, const Trail&) = default;
};

/// One change of the live bytes. `sequence` counts all changes since the meter was made, recorded or not.
struct MeterEvent {
  std::uint64_t sequence = 0;
  const char* op = nullptr;
  Category category = Category::activations;
  std::int64_t delta = 0;
  std::int64_t live = 0;  // total after the change
};

inline constexpr std::size_t kNamedBlocks = 8;  // live blocks listed in an error

/// A live block, for error texts. `name` and `op` (what ran when it was made) may be null.
struct LiveBlock {
  std::int64_t bytes = 0;
  Category category = Category::activations;
  const char* name = nullptr;
  const char* op = nullptr;
};

class Meter {
 public:
  /// Hard cap on total live bytes; 0 is none. A cap below what is live refuses every further request.
  void set_budget(std::int64_t bytes) { budget_ = bytes; }
  std::int64_t budget() const { return budget_; }
  bool fits(std::int64_t charged) const { return budget_ == 0 || charged <= budget_ - snapshot_.total_live; }

  void add(Category category, std::int64_t charged) noexcept {
    auto c = static_cast<std::size_t>(category);
    snapshot_.live[c] += charged;
    snapshot_.total_live += charged;
    if (snapshot_.live[c] > snapshot_.peak[c]) snapshot_.peak[c] = snapshot_.live[c];
    if (snapshot_.total_live > snapshot_.total_peak) {
      snapshot_.total_peak = snapshot_.total_live;
      snapshot_.at_peak = snapshot_.live;
    }
    ++snapshot_.events;
    mix(category, charged);
    if (recording_) record(category, charged);
  }
  void remove(Category category, std::int64_t charged) noexcept {
    snapshot_.live[static_cast<std::size_t>(category)] -= charged;
    snapshot_.total_live -= charged;
    ++snapshot_.events;
    mix(category, -charged);
    if (recording_) record(category, -charged);
  }

  std::int64_t live() const { return snapshot_.total_live; }
  std::int64_t peak() const { return snapshot_.total_peak; }
  std::int64_t live(Category category) const { return snapshot_.live[static_cast<std::size_t>(category)]; }
  std::int64_t peak(Category category) const { return snapshot_.peak[static_cast<std::size_t>(category)]; }
  const MeterSnapshot& snapshot() const { return snapshot_; }
  /// Peaks start again from what is live now.
  void reset_peak();

  /// All changes since the meter was made.
  Trail trail() const { return {snapshot_.events, trail_}; }
  /// The changes since the meter stood at `start`, whatever was before. So steps that overlap, such as those of several
  /// tapes, can each tell their own part.
  Trail trail_since(const Trail& start) const;

  /// The timeline is off at first. Turning it on keeps earlier events; clear_timeline() drops them.
  void record_timeline(bool on) { recording_ = on; }
  const std::vector<MeterEvent>& timeline() const { return timeline_; }
  void clear_timeline() { timeline_.clear(); }

  /// The op that runs now, named in errors and the timeline; null outside ops. The text must outlive the meter's use
  /// of it, as the names of registered ops do. Returns the previous one.
  const char* set_current_op(const char* name) { return std::exchange(op_, name); }
  const char* current_op() const { return op_; }

  /// describe_bytes() of what is live.
  std::string describe_live() const { return describe_bytes(snapshot_.live); }

  /// "a budget of 4096 bytes": the limit that fail_no_room() names where a request does not fit the budget.
  std::string budget_text() const;

  /// Throws the memory error for a request that finds no room. `limit` names what was met, for instance budget_text();
  /// `largest` are live blocks, largest first.
  [[noreturn]] void fail_no_room(std::int64_t bytes, Category category, const std::string& limit,
                                 std::span<const LiveBlock> largest) const;

 private:
  /// The hash is a polynomial in this number (modulo 2^64), so that what came first can be taken out of it again.
  static constexpr std::uint64_t kTrailBase = 0x9E3779B97F4A7C15u;

  void mix(Category category, std::int64_t delta) noexcept {
    std::uint64_t word = static_cast<std::uint64_t>(delta) * kCategoryCount + static_cast<std::uint64_t>(category) + 1;
    word = (word ^ word >> 29) * 0xBF58476D1CE4E5B9u;
    trail_ = trail_ * kTrailBase + (word ^ word >> 32);
  }
  void record(Category category, std::int64_t delta) noexcept;

  MeterSnapshot snapshot_;
  std::int64_t budget_ = 0;
  std::uint64_t trail_ = 0;
  bool recording_ = false;
  const char* op_ = nullptr;
  std::vector<MeterEvent> timeline_;
};

/// Whether the budget is what the request of this error met. By its text: an error carries no more than a kind.
bool is_over_budget(const Error& error);

/// Names the current op while in scope; scopes nest.
class OpScope {
 public:
  OpScope(Meter& meter, const char* name) : meter_(meter), previous_(meter.set_current_op(name)) {}
  ~OpScope() { meter_.set_current_op(previous_); }
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

 private:
  Meter& meter_;
  const char* previous_;
};

}  // namespace reprise
