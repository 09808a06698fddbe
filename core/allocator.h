// Two interfaces through which storage reaches the memory room without knowing it: where bytes come from, and who is
// told before bytes change. Implemented by memory/arena.h and memory/preserver.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/device_seam.h"

namespace reprise {

/// What bytes are used for; the meter reports live and peak bytes for each.
enum class Category : std::uint8_t {
  parameters,
  gradients,
  optimiser,
  state,
  activations,
  cotangents,
  preserved,
  workspace,
  data
};
constexpr int kCategoryCount = 9;
const char* to_string(Category category);

/// A run of bytes from an allocator, 64-byte aligned. `charged` is the size rounded up to 64, as metered.
struct Allocation {
  std::byte* data = nullptr;
  std::int64_t charged = 0;
  std::int64_t serial = 0;  // of a block without bytes, which has no address to be known by
};

constexpr std::int64_t round_up_64(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual Device device() const = 0;
  /// Errors (memory) when the budget or the machine has no room; nothing has changed then.
  virtual Allocation allocate(std::int64_t bytes, Category category) = 0;
  virtual void release(const Allocation& allocation, Category category) noexcept = 0;
  /// A name for error texts. `name` stays valid until the allocation is released or named again.
  virtual void set_name(const Allocation&, const char* /*name*/) noexcept {}
};

class Storage;
class Region;

/// How the bytes that a write is the first to kill are preserved: as each read asked, or as a plan says for them all.
enum class PreserveBy : std::uint8_t { as_asked, whole, region };

/// Who writes, for error texts and contracts: an op's name (or "host"), and its node, a number that grows within a
/// step.
struct Writer {
  const char* name = "host";
  std::int64_t sequence = 0;
  PreserveBy preserve = PreserveBy::as_asked;
  std::uint32_t step = 0;  // of the tape, from 1, as nodes count anew in each; 0: host code
};

/// Told by a storage about accesses that may matter to what is owed. Called only while the storage has obligations.
class WriteObserver {
 public:
  virtual ~WriteObserver() = default;
  /// Before the bytes of `region` change. Saves what is still owed. May throw (memory): then nothing has changed.
  virtual void before_write(Storage& storage, const Region& region, const Writer& writer) = 0;
  /// Before host code reads or writes: puts back the newest bytes.
  virtual void before_host_access(Storage& storage) noexcept = 0;
  /// The storage is about to be freed.
  virtual void storage_dies(Storage& storage) noexcept = 0;
};

}  // namespace reprise
