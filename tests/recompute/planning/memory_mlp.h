// A step for tests of the planner: an MLP whose segments read and write rows of a memory table. The rows are fixed, so
// they are known to a dry trace too; the index tensors have memory of their own.
#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "autograd/segment.h"
#include "ops/arithmetic.h"
#include "ops/matmul.h"
#include "ops/reduce.h"
#include "ops/registry.h"
#include "ops/row_state.h"
#include "ops/rows.h"
#include "ops/shape_ops.h"
#include "ops/unary.h"
#include "recompute/planning/walk.h"
#include "recompute/replay.h"

namespace reprise::testing {

class MemoryMlp {
 public:
  struct Sizes {
    std::int64_t batch = 8, width = 16, table = 64, written = 4;
    int segments = 4;
  };

  MemoryMlp(bool dry, const Sizes& sizes) : memory({.dry = dry}), sizes_(sizes) {
    register_builtin_ops();
    auto make = [&](Category category, const Shape& shape) {
      return make_tensor(memory.allocator(), memory.observer(), DType::f32, shape, category, true);
    };
    for (int s = 0; s < sizes.segments; ++s) {
      weights.push_back(Leaf::create("w", make(Category::parameters, {sizes.width, sizes.width}),
                                     make(Category::gradients, {sizes.width, sizes.width})));
    }
    input = make(Category::data, {sizes.batch, sizes.width});
    table = make(Category::state, {sizes.table, sizes.width});
    table.storage().set_name("table");
    if (!dry) fill();
    for (int s = 0; s < sizes.segments; ++s) {
      read_rows.push_back(rows(s * 5, sizes.batch, 3));
      written_rows.push_back(rows(s * 7, sizes.written, 2));
    }
    tape.emplace(memory);
    tape->set_replayer(&replayer);
  }

  Value forward() {
    Value h = parts();
    return mean(*tape, mul(*tape, h, h));
  }
  /// Two losses of one forward.
  std::array<Value, 2> two_losses() {
    Value h = parts();
    return {mean(*tape, mul(*tape, h, h)), mean(*tape, sin(*tape, h))};
  }

  Memory memory;
  Memory indices;  // goes after the index tensors
  std::vector<LeafRef> weights;
  Tensor input, table;
  std::vector<Tensor> read_rows, written_rows;
  std::optional<Tape> tape;
  TraceReplayer replayer;

 private:
  Value parts() {
    Tape& t = *tape;
    Value h = mul(t, input, 1.0);
    for (int s = 0; s < sizes_.segments; ++s) {
      h = segment(t, "part" + std::to_string(s), [&] {
        Value seen = gather_rows(t, table, read_rows[s]);
        Value inner = tanh(t, matmul(t, add(t, h, seen), weights[s]));
        return add(t, sin(t, mul(t, inner, seen)), h);
      });
      assign_rows(t, table, written_rows[s], slice(t, h, 0, 0, sizes_.written));
    }
    return h;
  }
  Tensor rows(std::int64_t first, std::int64_t count, std::int64_t stride) {
    Tensor t = make_tensor(indices.allocator(), indices.observer(), DType::i64, {count}, Category::data);
    std::vector<double> list;
    for (std::int64_t i = 0; i < count; ++i) list.push_back(static_cast<double>((first + i * stride) % sizes_.table));
    t.assign_doubles(list);
    return t;
  }
  void fill() {
    auto wave = [](const Tensor& t, double step) {
      std::vector<double> values(static_cast<std::size_t>(t.size()));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.3 * std::sin(step * static_cast<double>(i + 1));
      t.assign_doubles(values);
    };
    wave(input, 0.7);
    wave(table, 0.3);
    for (std::size_t s = 0; s < weights.size(); ++s) wave(weights[s]->data, 0.11 + 0.01 * static_cast<double>(s));
  }

  Sizes sizes_;
};

}  // namespace reprise::testing
