// PreserveListener: someone who wants to know how long preserving and exchanging take, and how much was moved; a trace
// of a step is one, its profile another. Told by the preserver, on the thread that owns the storages. Without one (the
// rule) nothing happens.
#pragma once

#include <cstdint>

namespace reprise {

class Storage;

/// What was copied or exchanged at once.
struct MovedBytes {
  std::int64_t copied = 0;                       // bytes of whole copies
  std::int64_t blocks = 0, bytes = 0, runs = 0;  // of records
  bool empty() const { return copied == 0 && blocks == 0; }
  void add_block(std::int64_t block_bytes, std::int64_t block_runs) {
    ++blocks;
    bytes += block_bytes;
    runs += block_runs;
  }
  MovedBytes& operator+=(const MovedBytes& other) {
    copied += other.copied;
    blocks += other.blocks;
    bytes += other.bytes;
    runs += other.runs;
    return *this;
  }
};

class PreserveListener {
 public:
  enum class What : std::uint8_t {
    preserve,  // finding what a write would break, and saving it
    exchange,  // saved bytes change places with the live ones, or are let go
  };
  virtual ~PreserveListener() = default;
  virtual void begins(What what, const Storage& storage) noexcept = 0;
  /// `moved` may be empty: a write was looked into and broke nothing.
  virtual void ends(const MovedBytes& moved) noexcept = 0;
};

/// Whoever listens on this thread, one at a time; null for nobody. A listener puts itself here, and null when it ends.
inline PreserveListener*& preserve_listener() {
  static thread_local PreserveListener* listener = nullptr;
  return listener;
}

/// Tells the listener that something is done while this is in scope, and in the end what was added to `moved`.
class PreserveScope {
 public:
  PreserveScope(PreserveListener::What what, const Storage& storage) noexcept : listener_(preserve_listener()) {
    if (listener_) listener_->begins(what, storage);
  }
  ~PreserveScope() {
    if (listener_) listener_->ends(moved);
  }
  PreserveScope(const PreserveScope&) = delete;
  PreserveScope& operator=(const PreserveScope&) = delete;

  MovedBytes moved;

 private:
  PreserveListener* listener_;
};

}  // namespace reprise
