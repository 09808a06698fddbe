#include "core/recycled.h"

#include <algorithm>
#include <array>
#include <bit>
#include <new>

namespace reprise {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
void* take_recycled(std::size_t bytes) { return ::operator new(bytes); }
void give_recycled(void* memory, std::size_t) noexcept { ::operator delete(memory); }
#else

namespace {

constexpr std::size_t kLeastBytes = 32;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // kept by a thread; a larger block is never kept

struct SpareBlock {
  SpareBlock* next;
};

/// Spare blocks by the logarithm of their size.
struct SpareBlocks {
  std::array<SpareBlock*, 32> lists{};
  std::size_t bytes = 0;
};
thread_local SpareBlocks spare_blocks;
thread_local bool spare_blocks_gone = false;

/// Gives the blocks back when the thread ends; those that come back still later go to the heap.
struct SpareBlocksOwner {
  ~SpareBlocksOwner() {
    spare_blocks_gone = true;
    for (SpareBlock*& list : spare_blocks.lists) {
      while (SpareBlock* block = list) {
        list = block->next;
        ::operator delete(block);
      }
    }
  }
  void use() {}
};
thread_local SpareBlocksOwner spare_blocks_owner;

std::size_t size_class(std::size_t bytes) {
  return static_cast<std::size_t>(std::bit_width(std::max(bytes, kLeastBytes) - 1));
}

}  // namespace

void* take_recycled(std::size_t bytes) {
  if (bytes > kMostBytes) return ::operator new(bytes);
  std::size_t at = size_class(bytes);
  if (SpareBlock* block = spare_blocks.lists[at]) {
    spare_blocks.lists[at] = block->next;
    spare_blocks.bytes -= std::size_t{1} << at;
    return block;
  }
  return ::operator new (std::size_t{1} << at);
}

void give_recycled(void* memory, std::size_t bytes) noexcept {
  std::size_t at = bytes > kMostBytes ? 0 : size_class(bytes);
  std::size_t size = std::size_t{1} << at;
  if (bytes > kMostBytes || spare_blocks_gone || spare_blocks.bytes + size > kMostBytes)
    return ::operator delete(memory);
  if (spare_blocks.bytes == 0) spare_blocks_owner.use();  // its destructor is due from now on
  spare_blocks.lists[at] = new (memory) SpareBlock{spare_blocks.lists[at]};
  spare_blocks.bytes += size;
}

#endif

}  // namespace reprise
