// Counts what the step's thread takes from the heap. The counting operator new serves the whole test program.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "autograd/tape.h"
#include "memory/memory.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/registry.h"
#include "ops/unary.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {
thread_local std::int64_t taken = 0;
}

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++taken;
  if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace reprise {
namespace {

/// Blocks that forward and backward of a chain of 5 * rounds ops take from the heap.
std::int64_t blocks_of_step(Tape& tape, const LeafRef& leaf, int rounds) {
  std::int64_t before = taken;
  leaf->clear_grad();
  {
    Value x = mul(tape, leaf, 1.0);
    for (int i = 0; i < rounds; ++i) {
      x = add(tape, x, 1e-6);
      x = mul(tape, x, leaf);
      x = relu(tape, x);
      x = sub(tape, x, 0.5);
      x = tanh(tape, x);
    }
    tape.backward(x);
  }
  tape.clear();
  return taken - before;
}

TEST(Tape, NoHeapAllocationPerOpAfterWarmUp) {
  register_builtin_ops();
  Memory memory;
  Tape tape(memory);
  Tensor data = make_tensor(memory.allocator(), memory.observer(), DType::f32, {64}, Category::parameters, true);
  Tensor grad = make_tensor(memory.allocator(), memory.observer(), DType::f32, {64}, Category::gradients, true);
  LeafRef leaf = Leaf::create("x", data, grad);
  for (int i = 0; i < 2; ++i) blocks_of_step(tape, leaf, 400);
  std::int64_t few = blocks_of_step(tape, leaf, 10), many = blocks_of_step(tape, leaf, 400);
  EXPECT_EQ(few, many);
  EXPECT_LE(many, 16);  // a step's own: its numbers, what marks where the backward goes
}

}  // namespace
}  // namespace reprise

#endif
