// SeenValues: hashes of the values that recorded nodes were given and made, so that a formula or a replay that is
// handed other bytes says so. Held by the guard; NodeBuilder notes, NodeBackward and the replay check.
//
// Values carry no obligations of the preserver until somebody writes them in order, so a write past every door would be
// seen by nobody. Invariant: what is noted of a node is what its forward read, whoever had written it before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "autograd/node.h"
#include "memory/foreign_write.h"

namespace reprise {

class SeenValues {
 public:
  /// A node is being recorded whose operands and values begin there: forgets what a failed one has noted, and makes
  /// room for its `results`, which are noted when it has written.
  void begin_node(std::uint32_t first_operand, ValueId first_value, int results);
  /// `index` counts all operands of the tape.
  void note_operand(std::uint32_t index, const TensorView& view, const Storage& storage);
  void note_result(ValueId value, const TensorView& view, const Storage& storage);
  void clear();

  /// Errors (replay): `now` holds other bytes than the node was given, or made. Nothing where nothing was noted.
  void check_operand(const TapeData& data, std::uint32_t node, int operand, const TensorView& now) const;
  void check_result(const TapeData& data, std::uint32_t node, int result, const TensorView& now) const;

 private:
  struct Seen {
    bool noted = false;
    std::uint64_t hash = 0;
    StorageVersion version;
  };
  static void note(std::vector<Seen>& list, std::size_t at, const TensorView& view, const Storage& storage);
  static void check(const std::vector<Seen>& list, std::size_t at, const TapeData& data, std::uint32_t node,
                    ValueId value, const char* name, const TensorView& now);

  std::vector<Seen> operands_, results_;  // by operand, by value
};

}  // namespace reprise
