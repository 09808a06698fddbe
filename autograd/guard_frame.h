// GuardFrame: the memory around one guarded kernel, as blocks with the bytes from before it and after its first run.
// Used by autograd/guard.cpp only.
//
// A block is a storage (or the copy of one) that the kernel may be able to reach, or memory that it is given to fill
// (`fresh`: results, gradients; `scratch`: workspace). Offsets in regions count from the block's base.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/region.h"
#include "core/tensor.h"

namespace reprise {

struct GuardBlock {
  std::byte* base = nullptr;
  std::int64_t bytes = 0;
  std::string name;  // "input x", "storage 'queue'", "result out"
  int operand = -1;  // operand of the node, -1 for others
  DType dtype = DType::f32;
  Region may_read, may_write;
  Region updated;  // of may_write, what updates name
  bool fresh = false;
  bool scratch = false;
  bool given = false;                    // a result that a replay is to read
  bool saved = false;                    // holds what a formula has saved
  std::vector<std::byte> before, after;  // after: empty where the block keeps its bytes
  /// The kernel may not write it, and undeclared_write() has seen that it did not: what most watched storages are.
  bool keeps() const { return !fresh && !scratch && may_write.empty(); }
};

struct GuardDifference {
  const GuardBlock* block;
  Region bytes;
};

class GuardFrame {
 public:
  std::vector<GuardBlock> blocks;

  /// Adds the block unless one with these bytes is there; returns the one that holds `base`.
  GuardBlock& add(std::byte* base, std::int64_t bytes, std::string name);
  /// The same for the memory that a view touches, which may begin before view.data where strides are negative.
  GuardBlock& add_view(const TensorView& view, std::string name);
  /// Memory that the kernel fills. Inside another block (memory taken over) it becomes part of that block's may_write.
  void add_fresh(const TensorView& view, std::string name, bool scratch = false);
  /// Adds `region`, whose offsets count from `base`, to what may be read or written in the blocks that hold bytes of
  /// it: those added before.
  void allow(const std::byte* base, const Region& region, bool read, bool write);

  void save_before();
  void save_after();
  /// Blocks as before the kernel; fresh ones filled with pattern `fill`.
  void reset(int fill);
  /// Overwrites what may be neither read nor written with NaN patterns: in all blocks, or in `only`.
  void poison(const GuardBlock* only = nullptr);
  /// Overwrites the old bytes of updates in the same way.
  void poison_updates();
  void restore_before() noexcept;
  void restore_after() noexcept;

  /// Bytes outside may_write that are not as before.
  std::optional<GuardDifference> undeclared_write() const;
  /// Bytes that poison() has hidden and somebody has written since, if only what had been there.
  std::optional<GuardDifference> poison_written() const;
  /// Bytes of what may be written that are not as after the first run.
  std::optional<GuardDifference> difference() const;
  /// A fresh block with elements that still hold pattern `fill`. Of single bytes, which may hold it in earnest, only
  /// those count that held pattern 0 after the first run and hold pattern 1 after the second.
  std::optional<GuardDifference> unwritten(int fill) const;
};

/// Fills with a NaN of a payload that no computation makes but hands on; integers with a large negative number.
/// Patterns 0 and 1 are for memory that a kernel fills in its first and second run, 2 is for bytes that it may not
/// read.
void fill_guard_pattern(std::byte* to, std::int64_t bytes, DType dtype, int pattern);

/// `region` with all offsets moved.
Region shifted(const Region& region, std::int64_t by);

/// Bytes at which two buffers differ.
Region differing(const std::byte* a, const std::byte* b, std::int64_t bytes);

/// Memory extent of a view, as offsets from view.data; below 0 where strides are negative.
Region extent_of(const TensorView& view);

}  // namespace reprise
