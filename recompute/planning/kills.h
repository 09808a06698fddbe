// Kills: which writes of a recorded forward overwrite the bytes of which reads: the classes of reads (same storage,
// same first killing write), and the parts that each write kills. Read from a tape as Walker::look() shows it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/region.h"
#include "recompute/planning/walk.h"

namespace reprise {

/// One update of one node: a write that may kill.
struct KillingWrite {
  std::uint32_t node = 0;
  int update = 0;
  friend auto operator<=>(const KillingWrite&, const KillingWrite&) = default;
};

struct KilledPart {
  KillingWrite write;
  Region part;
};

/// What the parts of one storage are charged as.
struct KilledStorage {
  std::string name;
  std::int64_t bytes = 0;
};

class Kills {
 public:
  explicit Kills(const Tape& tape);

  /// The parts of the read's bytes that writes kill while it is owed, in their order; empty: all of them stay live.
  std::vector<KilledPart> of(const WalkedRead& read) const;
  KilledStorage storage(const WalkedRead& read) const;

 private:
  struct Write {
    KillingWrite at;
    Region region;
  };
  ValueId result_of(const WalkedRead& read) const;
  const Tensor& tensor_of(const WalkedRead& read) const;
  std::uint64_t key_of(ValueId value) const;
  std::uint64_t key_of(const OperandRecord& operand) const;
  Region region_of(const NodeRecord& node, int index) const;

  const TapeData& data_;
  std::map<std::uint64_t, std::vector<Write>> writes_;  // by storage, or by chain of values
};

}  // namespace reprise
