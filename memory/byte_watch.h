// ByteWatch: whether storages are as they were at a moment: the same bytes, by their hash, and no write announced. For
// checks of what must leave things alone, as a backward its parameters, states and values; used by conform and tests.
//
// Invariant: a storage is noted once, under the first name it came with, and held until the watch is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace reprise {

class ByteWatch {
 public:
  /// Notes the whole storage of `tensor` as it is now; nothing for a tensor without one.
  void note(std::string name, const Tensor& tensor);
  /// Whoever is watched may change `storage`.
  void allow(const Storage& storage) { allowed_.push_back(storage.serial()); }
  /// The first storage noted that has changed and may not, in words; empty where there is none.
  std::string difference() const;
  std::size_t size() const { return noted_.size(); }

 private:
  struct Noted {
    std::string name;
    StorageRef storage;
    Clock clock;
    std::uint64_t hash;
  };
  std::vector<Noted> noted_;
  std::vector<std::uint64_t> allowed_;  // serial numbers: a storage may be gone, and its record another's
};

}  // namespace reprise
