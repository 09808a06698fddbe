#include "autograd/guard_frame.h"

#include <cstring>

namespace reprise {

namespace {

constexpr std::uint32_t kNaN32[3] = {0x7fe5a5a5u, 0x7fda3c3cu, 0x7fd69696u};
constexpr std::uint64_t kNaN64[3] = {0x7ffde5a5a5a5a5a5u, 0x7ffada3c3c3c3c3cu, 0x7ffb969696969696u};
constexpr std::uint16_t kNaN16[3] = {0x7fe5u, 0x7fdau, 0x7fd6u};
constexpr std::uint8_t kByte[3] = {0xe5u, 0xdau, 0xd6u};
constexpr int kHidden = 2;

template <class T>
void fill_words(std::byte* to, std::int64_t bytes, T word) {
  std::int64_t whole = bytes / static_cast<std::int64_t>(sizeof(T)) * static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < whole; i += sizeof(T)) std::memcpy(to + i, &word, sizeof(T));
  for (std::int64_t i = whole; i < bytes; ++i) to[i] = std::byte{0xff};
}

Region hidden_in(const GuardBlock& block) {
  return subtract(subtract(Region::span(0, block.bytes), block.may_read), block.may_write);
}

/// `region` grown to whole elements, because single bytes mean little to a reader.
Region whole_elements(const Region& region, std::int64_t item) {
  std::vector<Run> runs;
  for (const Run& run : region.runs()) runs.push_back({run.lo / item * item, (run.hi + item - 1) / item * item});
  return Region::from_runs(runs);
}

}  // namespace

void fill_guard_pattern(std::byte* to, std::int64_t bytes, DType dtype, int pattern) {
  switch (dtype) {
    case DType::f32:
    case DType::i32: fill_words(to, bytes, kNaN32[pattern]); return;
    case DType::f64: fill_words(to, bytes, kNaN64[pattern]); return;
    case DType::i64: fill_words(to, bytes, ~kNaN64[pattern]); return;
    case DType::bf16: fill_words(to, bytes, kNaN16[pattern]); return;
    default: fill_words(to, bytes, kByte[pattern]);
  }
}

Region shifted(const Region& region, std::int64_t by) {
  std::vector<Run> runs(region.runs().begin(), region.runs().end());
  for (Run& run : runs) run.lo += by, run.hi += by;
  return Region::from_runs(runs);
}

Region differing(const std::byte* a, const std::byte* b, std::int64_t bytes) {
  std::vector<Run> runs;
  constexpr std::int64_t kStep = 4096;  // equal stretches are skipped quickly
  for (std::int64_t at = 0; at < bytes; at += kStep) {
    std::int64_t end = std::min(bytes, at + kStep);
    if (std::memcmp(a + at, b + at, static_cast<std::size_t>(end - at)) == 0) continue;
    for (std::int64_t i = at; i < end; ++i) {
      if (a[i] == b[i]) continue;
      if (!runs.empty() && runs.back().hi == i)
        ++runs.back().hi;
      else
        runs.push_back({i, i + 1});
    }
  }
  return Region::from_runs(runs);
}

Region extent_of(const TensorView& view) { return Region::block(0, view.shape, view.strides, size_of(view.dtype)); }

GuardBlock& GuardFrame::add(std::byte* base, std::int64_t bytes, std::string name) {
  for (GuardBlock& block : blocks) {
    if (base >= block.base && base + bytes <= block.base + block.bytes) return block;
  }
  GuardBlock& block = blocks.emplace_back();
  block.base = base;
  block.bytes = bytes;
  block.name = std::move(name);
  return block;
}

void GuardFrame::add_fresh(const TensorView& view, std::string name, bool scratch) {
  if (!view.data || view.bytes() == 0) return;
  std::size_t count = blocks.size();
  GuardBlock& block = add(view.data, view.bytes(), std::move(name));
  if (blocks.size() > count) {
    block.fresh = !scratch;
    block.scratch = scratch;
    block.dtype = view.dtype;
  }
  allow(view.data, extent_of(view), scratch, true);
}

GuardBlock& GuardFrame::add_view(const TensorView& view, std::string name) {
  Run cover = extent_of(view).cover();
  GuardBlock& block = add(view.data + cover.lo, cover.hi - cover.lo, std::move(name));
  block.dtype = view.dtype;
  return block;
}

void GuardFrame::allow(const std::byte* base, const Region& region, bool read, bool write) {
  if (region.empty()) return;
  Run cover = region.cover();
  for (GuardBlock& block : blocks) {
    // Not by the first byte alone: blocks of two views may hold parts of each other.
    if (base + cover.hi <= block.base || base + cover.lo >= block.base + block.bytes) continue;
    Region here = intersect(shifted(region, base - block.base), Region::span(0, block.bytes));
    if (read) block.may_read = unite(block.may_read, here);
    if (write) block.may_write = unite(block.may_write, here);
  }
}

void GuardFrame::save_before() {
  for (GuardBlock& block : blocks) block.before.assign(block.base, block.base + block.bytes);
}

void GuardFrame::save_after() {
  for (GuardBlock& block : blocks) {
    if (!block.keeps()) block.after.assign(block.base, block.base + block.bytes);
  }
}

void GuardFrame::reset(int fill) {
  for (GuardBlock& block : blocks) {
    if (block.fresh || block.scratch)
      fill_guard_pattern(block.base, block.bytes, block.dtype, fill);
    else
      std::memcpy(block.base, block.before.data(), block.before.size());
  }
}

void GuardFrame::poison(const GuardBlock* only) {
  for (GuardBlock& block : blocks) {
    if (block.fresh || block.scratch || (only && only != &block)) continue;
    const Region hidden = hidden_in(block);
    for (const Run& run : hidden.runs()) fill_guard_pattern(block.base + run.lo, run.hi - run.lo, block.dtype, kHidden);
  }
}

void GuardFrame::poison_updates() {
  for (GuardBlock& block : blocks) {
    for (const Run& run : block.updated.runs())
      fill_guard_pattern(block.base + run.lo, run.hi - run.lo, block.dtype, kHidden);
  }
}

void GuardFrame::restore_before() noexcept {
  for (GuardBlock& block : blocks) {
    if (!block.fresh && !block.scratch) std::memcpy(block.base, block.before.data(), block.before.size());
  }
}

void GuardFrame::restore_after() noexcept {
  for (GuardBlock& block : blocks) {
    const std::vector<std::byte>& bytes = block.keeps() ? block.before : block.after;
    if (!block.scratch) std::memcpy(block.base, bytes.data(), bytes.size());
  }
}

std::optional<GuardDifference> GuardFrame::undeclared_write() const {
  for (const GuardBlock& block : blocks) {
    if (block.fresh || block.scratch) continue;
    Region changed = subtract(differing(block.base, block.before.data(), block.bytes), block.may_write);
    if (!changed.empty()) return GuardDifference{&block, whole_elements(changed, size_of(block.dtype))};
  }
  return std::nullopt;
}

std::optional<GuardDifference> GuardFrame::poison_written() const {
  std::vector<std::byte> poison;
  for (const GuardBlock& block : blocks) {
    if (block.fresh || block.scratch) continue;
    const Region hidden = hidden_in(block);
    Region changed;
    for (const Run& run : hidden.runs()) {
      poison.resize(static_cast<std::size_t>(run.hi - run.lo));
      fill_guard_pattern(poison.data(), run.hi - run.lo, block.dtype, kHidden);
      changed = unite(changed, shifted(differing(block.base + run.lo, poison.data(), run.hi - run.lo), run.lo));
    }
    if (!changed.empty()) return GuardDifference{&block, whole_elements(changed, size_of(block.dtype))};
  }
  return std::nullopt;
}

std::optional<GuardDifference> GuardFrame::difference() const {
  for (const GuardBlock& block : blocks) {
    if (block.scratch || block.keeps()) continue;
    Region changed = intersect(differing(block.base, block.after.data(), block.bytes), block.may_write);
    if (!changed.empty()) return GuardDifference{&block, whole_elements(changed, size_of(block.dtype))};
  }
  return std::nullopt;
}

std::optional<GuardDifference> GuardFrame::unwritten(int fill) const {
  for (const GuardBlock& block : blocks) {
    if (!block.fresh) continue;
    std::int64_t item = size_of(block.dtype);
    if (item == 1 && fill == 0) continue;
    std::byte pattern[8], first[8];
    fill_guard_pattern(pattern, item, block.dtype, fill);
    fill_guard_pattern(first, item, block.dtype, 0);
    std::vector<Run> left;
    for (std::int64_t i = 0; i + item <= block.bytes; i += item) {
      if (std::memcmp(block.base + i, pattern, static_cast<std::size_t>(item)) != 0) continue;
      if (item > 1 || block.after[static_cast<std::size_t>(i)] == first[0]) left.push_back({i, i + item});
    }
    if (!left.empty()) return GuardDifference{&block, Region::from_runs(left)};
  }
  return std::nullopt;
}

}  // namespace reprise
