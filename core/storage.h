// Storage: a run of bytes on one device, allocated once, with a write clock that ticks once per write.
//
// There is one kind: parameters, queues, statistics and activations are all storages. All access to bytes goes through
// its doors: a write names its region, lets the observer save what is still owed, then ticks the clock. A read by host
// code sees the newest bytes. Views share the storage, so aliasing needs no special case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "core/allocator.h"
#include "core/ref.h"
#include "core/region.h"

namespace reprise {

/// Counts the writes to a storage since it was made: a version of its bytes.
using Clock = std::uint64_t;

class Storage : public RefCounted {
 public:
  /// Takes `bytes` (at least 0) from `allocator`. The bytes are not initialised. `observer` may be null.
  /// Errors (memory) as the allocator's.
  static Ref<Storage> create(Allocator& allocator, WriteObserver* observer, std::int64_t bytes, Category category);

  std::int64_t bytes() const { return bytes_; }
  Category category() const { return category_; }
  Clock clock() const { return clock_; }
  Device device() const { return allocator_->device(); }
  const std::string& name() const { return name_; }
  void set_name(std::string name) {
    name_ = std::move(name);
    allocator_->set_name(allocation_, name_.c_str());
  }

  /// A constant is never written after its maker filled it, so reads of it owe nothing.
  bool is_constant() const { return constant_; }
  void mark_constant() { constant_ = true; }

  /// From here to allow_reading(), whoever would read these bytes through a door or by an op is told `why` not.
  void refuse_reading(const char* why) { unreadable_ = why; }
  void allow_reading() { unreadable_ = nullptr; }
  /// Errors (user): `reader` may not. Before anything has changed.
  void require_readable(const char* reader) const {
    if (unreadable_) fail_unreadable(reader);
  }

  /// The door for ops: announces the write of `region` to the observer, then ticks the clock. Nothing has changed if
  /// it throws. The caller then writes those bytes through raw().
  void announce(const Region& region, const Writer& writer);

  /// The doors for host code: both put the newest bytes back first. Null in a dry trace. Errors: host_read() (user),
  /// where reading is refused; host_write() those of announce(), and nothing has changed then.
  const std::byte* host_read();
  std::byte* host_write(const Region& region, const char* who = "host");

  /// The bytes without a door: for kernels, whose reads and writes the tape has announced, and for the preserver.
  std::byte* raw() const { return allocation_.data; }

  /// Who announced the last write; meaningless while the clock is 0.
  const Writer& last_writer() const { return last_writer_; }

  /// Obligations on this storage; kept by the observer. Zero means that announce() is a tick and nothing else.
  int obligations = 0;
  /// The observer's record of this storage (its ledger); owned and interpreted by the observer alone.
  void* ledger = nullptr;
  WriteObserver* observer() const { return observer_; }
  /// Makes `observer` that of a storage without one until release_observer(): whoever owes its bytes must hear of its
  /// writes.
  void adopt_observer(WriteObserver* observer) {
    if (observer_) return;
    observer_ = observer;
    adopted_ = true;
  }
  void release_observer() {
    if (adopted_) observer_ = nullptr;
    adopted_ = false;
  }
  Allocator& allocator() const { return *allocator_; }
  /// A number that no other storage of the thread that made it has had; order of creation.
  std::uint64_t serial() const { return serial_; }

 private:
  friend class Ref<Storage>;
  Storage() = default;
  ~Storage() = default;
  static void destroy(Storage* storage) noexcept;
  [[noreturn]] void fail_unreadable(const char* reader) const;

  Allocation allocation_;
  std::int64_t bytes_ = 0;
  Clock clock_ = 0;
  Writer last_writer_;
  Allocator* allocator_ = nullptr;
  WriteObserver* observer_ = nullptr;
  const char* unreadable_ = nullptr;  // why; null as long as they may be read
  std::uint64_t serial_ = 0;
  Category category_ = Category::activations;
  bool constant_ = false;
  bool adopted_ = false;  // the observer came with an obligation and goes with the last
  std::string name_;
};

using StorageRef = Ref<Storage>;

}  // namespace reprise
