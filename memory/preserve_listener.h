// PreserveListener: someone who wants to know how long preserving and exchanging take; a trace of a step is one. Told
// by the preserver, on the thread that owns the storages. Without one (the rule) nothing happens.
#pragma once

#include <cstdint>

namespace reprise {

class Storage;

class PreserveListener {
 public:
  enum class What : std::uint8_t {
    preserve,  // owed bytes are saved before a write
    exchange,  // saved bytes change places with the live ones
  };
  virtual ~PreserveListener() = default;
  virtual void begins(What what, const Storage& storage) noexcept = 0;
  virtual void ends() noexcept = 0;
};

/// Whoever listens on this thread; null for nobody.
inline PreserveListener*& preserve_listener() {
  static thread_local PreserveListener* listener = nullptr;
  return listener;
}

/// What is done while this is in scope.
class PreserveScope {
 public:
  PreserveScope(PreserveListener::What what, const Storage& storage) noexcept : listener_(preserve_listener()) {
    if (listener_) listener_->begins(what, storage);
  }
  ~PreserveScope() {
    if (listener_) listener_->ends();
  }
  PreserveScope(const PreserveScope&) = delete;
  PreserveScope& operator=(const PreserveScope&) = delete;

 private:
  PreserveListener* listener_;
};

}  // namespace reprise
