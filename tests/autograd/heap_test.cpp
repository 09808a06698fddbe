// Counts what the step's thread takes from the heap.
#include <gtest/gtest.h>

#include <new>
#include <thread>

#include "autograd/tape.h"
#include "core/stream.h"
#include "memory/memory.h"
#include "ops/arithmetic.h"
#include "ops/batch_norm.h"
#include "ops/draws.h"
#include "ops/loss.h"
#include "ops/normalize.h"
#include "ops/reduce.h"
#include "ops/registry.h"
#include "ops/row_state.h"
#include "ops/rows.h"
#include "ops/select.h"
#include "ops/shape_ops.h"
#include "ops/state.h"
#include "ops/unary.h"
#include "tests/support/full_heap_new.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace reprise {
namespace {

/// Blocks that forward and backward of a chain of 5 * rounds ops take from the heap.
std::int64_t blocks_of_step(Tape& tape, const LeafRef& leaf, int rounds) {
  std::int64_t before = full_heap::taken;
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
  return full_heap::taken - before;
}

TEST(Storage, WithoutRoomForItsRecordItTakesNoBytes) {
  auto on_a_full_heap = [] {
    Memory memory;
    StorageRef first = Storage::create(memory.allocator(), nullptr, 64, Category::state);
    std::int64_t live = memory.meter().live();
    bool thrown = false;
    {
      full_heap::Refusing refusing(0);
      try {
        StorageRef second = Storage::create(memory.allocator(), nullptr, 64, Category::state);
      } catch (const std::bad_alloc&) {
        thrown = true;
      }
    }
    EXPECT_TRUE(thrown);
    EXPECT_EQ(memory.meter().live(), live);
  };
  std::thread(on_a_full_heap).join();  // a thread that keeps no records of storages that died
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

/// Operands of layers that want all that an op may want: state, workspace, statistics, draws, labels.
struct Layers {
  explicit Layers(Memory& memory) {
    auto zeros = [&](DType dtype, const Shape& shape, Category category) {
      return make_tensor(memory.allocator(), memory.observer(), dtype, shape, category, true);
    };
    auto leaf = [&](const Shape& shape) {
      return Leaf::create("x", zeros(DType::f32, shape, Category::parameters),
                          zeros(DType::f32, shape, Category::gradients));
    };
    x = leaf({64, 16}), gamma = leaf({16}), beta = leaf({16});
    mean = zeros(DType::f32, {16}, Category::state), variance = zeros(DType::f32, {16}, Category::state);
    labels = zeros(DType::i64, {64}, Category::data);
  }
  LeafRef x, gamma, beta;
  Tensor mean, variance, labels;
  Stream stream{"dropout", 1, 1, 0};
};

/// Blocks that forward and backward of 3 * rounds ops on them take from the heap.
std::int64_t blocks_of_layers(Tape& tape, Layers& layers, int rounds) {
  std::int64_t before = full_heap::taken;
  for (const LeafRef& leaf : {layers.x, layers.gamma, layers.beta}) leaf->clear_grad();
  {
    Value x = mul(tape, layers.x, 1.0);
    for (int i = 0; i < rounds; ++i) {
      x = batch_norm_relu(tape, x, layers.gamma, layers.beta, layers.mean, layers.variance);
      x = dropout(tape, layers.stream, x, 0.25);
      x = l2_normalize(tape, x);
    }
    tape.backward(softmax_cross_entropy(tape, x, layers.labels));
  }
  tape.clear();
  return full_heap::taken - before;
}

TEST(Tape, NoHeapAllocationPerLayerWithStateWorkspaceAndDraws) {
  register_builtin_ops();
  Memory memory;
  Tape tape(memory);
  Layers layers(memory);
  for (int i = 0; i < 2; ++i) blocks_of_layers(tape, layers, 60);
  std::int64_t few = blocks_of_layers(tape, layers, 4), many = blocks_of_layers(tape, layers, 60);
  EXPECT_EQ(few, many);
}

/// A table whose rows are read and written by a list that is no constant, and a state that is overwritten while owed.
struct Rows {
  explicit Rows(Memory& memory) {
    auto zeros = [&](DType dtype, const Shape& shape, Category category) {
      return make_tensor(memory.allocator(), memory.observer(), dtype, shape, category, true);
    };
    x = Leaf::create("x", zeros(DType::f32, {8, 4}, Category::parameters),
                     zeros(DType::f32, {8, 4}, Category::gradients));
    table = zeros(DType::f32, {64, 4}, Category::state);
    scale = zeros(DType::f32, {8, 4}, Category::state);
    list = zeros(DType::i64, {8}, Category::data);
    list.assign_doubles(std::vector<double>{63, 1, 40, 3, 9, 8, 20, 0});
  }
  LeafRef x;
  Tensor table, scale, list;
};

/// Blocks that forward and backward of 8 * rounds ops on them take from the heap.
std::int64_t blocks_of_rows(Tape& tape, Rows& rows, int rounds) {
  std::int64_t before = full_heap::taken;
  rows.x->clear_grad();
  {
    Value x = mul(tape, rows.x, 1.0);
    for (int i = 0; i < rounds; ++i) {
      Value picked = gather_rows(tape, rows.table, rows.list);
      x = mul(tape, mul(tape, x, rows.scale), picked);
      mul_into(tape, rows.scale, 1.0);
      assign_rows(tape, rows.table, rows.list, x);
      Arg both[] = {x, top_k(tape, x, 4).values};
      x = slice(tape, concat(tape, both), 0, 0, 8);
    }
    tape.backward(sum(tape, x));
  }
  tape.clear();
  return full_heap::taken - before;
}

TEST(Tape, NoHeapAllocationPerOpOnRowsByAList) {
  register_builtin_ops();
  Memory memory;
  Tape tape(memory);
  Rows rows(memory);
  for (int i = 0; i < 2; ++i) blocks_of_rows(tape, rows, 60);
  std::int64_t few = blocks_of_rows(tape, rows, 4), many = blocks_of_rows(tape, rows, 60);
  EXPECT_EQ(few, many);
}

}  // namespace
}  // namespace reprise

#endif
