// The preserver beside a model that keeps a full copy of the storage for every read: for tests of the preserver alone.
// Whoever writes, owes or drops does it through the world, so that both know.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "memory/memory.h"
#include "memory/preserver.h"

namespace reprise::preserver_world {

inline constexpr ReadLabel kLabel{"segment", "op", "operand"};
using Bytes = std::vector<unsigned char>;
using ByteRun = Run;  // inside the body of a test, Run is a member of the test's class

inline Bytes bytes_at(const std::byte* from, std::int64_t count) {
  Bytes out(static_cast<std::size_t>(count));
  if (count > 0) std::memcpy(out.data(), from, out.size());
  return out;
}

/// A storage beside its newest bytes and the pending reads of it.
struct Shelf {
  struct Pending {
    ReadId id;
    Region region;
    Bytes saw;  // the whole storage at the read
    Clock version;
  };
  StorageRef storage;
  Bytes newest;
  std::vector<Pending> reads;
};

class World {
 public:
  explicit World(bool guard = true) { memory_.preserver().set_guard(guard); }
  ~World() { drop_all(); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Preserver& preserver() { return memory_.preserver(); }
  Memory& memory() { return memory_; }
  std::vector<Shelf>& shelves() { return shelves_; }

  Shelf& shelf(std::int64_t bytes) {
    Shelf& made = shelves_.emplace_back();
    made.storage = Storage::create(memory_.allocator(), memory_.observer(), bytes, Category::state);
    made.newest.resize(static_cast<std::size_t>(bytes));
    for (unsigned char& byte : made.newest) byte = next_++;
    std::memcpy(made.storage->raw(), made.newest.data(), made.newest.size());
    return made;
  }

  std::size_t owe(Shelf& shelf, const Region& region, StateOption option) {
    ReadId id = preserver().owe(*shelf.storage, region, option, kLabel);
    shelf.reads.push_back({id, region, shelf.newest, shelf.storage->clock()});
    return shelf.reads.size() - 1;
  }

  void write(Shelf& shelf, const Region& region, bool by_host = false, PreserveBy by = PreserveBy::as_asked) {
    if (by_host)
      shelf.storage->host_write(region);
    else
      shelf.storage->announce(region, Writer{"writer", 1, by});
    for (const ByteRun& run : region.runs()) {
      for (std::int64_t at = run.lo; at < run.hi; ++at) {
        shelf.newest[static_cast<std::size_t>(at)] = next_;
        shelf.storage->raw()[at] = static_cast<std::byte>(next_++);
      }
    }
  }

  bool sees_its_bytes(const Shelf::Pending& read, const std::byte* base) {
    for (const ByteRun& run : read.region.runs()) {
      if (std::memcmp(base + run.lo, read.saw.data() + run.lo, static_cast<std::size_t>(run.hi - run.lo)) != 0) {
        return false;
      }
    }
    return true;
  }

  bool home(const Shelf& shelf) { return bytes_at(shelf.storage->host_read(), shelf.storage->bytes()) == shelf.newest; }

  void drop(Shelf& shelf, std::size_t i) {
    preserver().drop(shelf.reads[i].id);
    shelf.reads.erase(shelf.reads.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void drop_all() {
    for (Shelf& shelf : shelves_) {
      while (!shelf.reads.empty()) drop(shelf, shelf.reads.size() - 1);
    }
  }

 private:
  Memory memory_;
  std::vector<Shelf> shelves_;
  unsigned char next_ = 1;
};

}  // namespace reprise::preserver_world
