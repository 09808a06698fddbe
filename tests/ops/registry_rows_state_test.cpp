#include "ops/state.h"

#include "ops/arithmetic.h"
#include "ops/draws.h"
#include "ops/shape_ops.h"
#include "registry_rows.h"

namespace reprise::walk {

namespace {

using Numbers = std::vector<double>;

struct Writer2 {
  const char* name;
  void (*apply)(Tape&, Arg, Arg);
  double (*reference)(double, double);
};

const Writer2 kWriters[] = {
    {"assign", assign, [](double, double v) { return v; }},
    {"add_into", add_into, [](double o, double v) { return o + v; }},
    {"mul_into", mul_into, [](double o, double v) { return o * v; }},
    {"ema_update", [](Tape& t, Arg to, Arg from) { ema_update(t, std::move(to), std::move(from), 0.75); },
     [](double o, double v) { return 0.75 * o + 0.25 * v; }},
    {"running_update", [](Tape& t, Arg to, Arg from) { running_update(t, std::move(to), std::move(from), 0.25); },
     [](double o, double v) { return 0.75 * o + 0.25 * v; }},
};

bool broadcasts(const Writer2& op) {
  return std::string(op.name) != "ema_update" && std::string(op.name) != "running_update";
}

Build to_state(const Writer2& op, Shape to_shape, Shape value_shape) {
  return [=](CheckCase& c) -> CheckApply {
    Tensor to = c.state(to_shape);
    auto value = c.leaf(value_shape);
    return [=](Tape& t) {
      op.apply(t, to, value(t));
      return CheckOutputs();
    };
  };
}

Build to_value(const Writer2& op, Shape to_shape, Shape value_shape) {
  return [=](CheckCase& c) -> CheckApply {
    auto to = c.leaf(to_shape);
    auto value = c.leaf(value_shape);
    return [=](Tape& t) {
      Value y = copy(t, to(t));
      op.apply(t, y, value(t));
      return CheckOutputs(y);
    };
  };
}

std::vector<CheckRow> rows_of(const Writer2& op) {
  Shape small{3, 4}, line = broadcasts(op) ? Shape{4} : small;
  std::vector<CheckRow> rows;
  rows.push_back(row(op.name, "a state", to_state(op, small, small), each2(small, small, op.reference)));
  rows.push_back(row(op.name, "a value in place", to_value(op, small, line), each2(small, line, op.reference)));
  rows.push_back(row(op.name, "old bytes are owed by a product", [=](CheckCase& c) -> CheckApply {
    auto to = c.leaf(small);
    auto value = c.leaf(small);
    return [=](Tape& t) {
      Value y = copy(t, to(t));
      Value square = mul(t, y, y);
      op.apply(t, y, value(t));
      return CheckOutputs({square, y});
    };
  }));
  rows.push_back(row(op.name, "a slice of a state", [=](CheckCase& c) -> CheckApply {
    Tensor all = c.state({4, 6});
    Tensor part = all.with_view({4, 2}, {6, 2}, 1);
    auto value = c.input({4, 2});
    return [=](Tape& t) {
      op.apply(t, part, value(t));
      return CheckOutputs();
    };
  }));
  if (broadcasts(op)) {
    rows.push_back(row(op.name, "one number for all", [=](CheckCase& c) -> CheckApply {
      Tensor to = c.state({5});
      return [=](Tape& t) {
        op.apply(t, to, Arg(0.5));
        return CheckOutputs();
      };
    }));
  }
  rows.push_back(timed(op.name, to_state(op, {70000}, {70000})));
  return rows;
}

void other_rows(std::vector<CheckRow>& rows) {
  rows.push_back(row(
      "assign", "a span of a state",
      [](CheckCase& c) -> CheckApply {
        Tensor to = c.state({8});
        auto value = c.input({3});
        return [=](Tape& t) {
          write_span(t, to, 2, 5, value(t));
          return CheckOutputs();
        };
      },
      [](const CheckNumbers& in) {
        Numbers out = in[0];
        for (std::size_t i = 0; i < 3; ++i) out[2 + i] = in[1][i];
        return CheckNumbers{out};
      }));
  rows.push_back(row(
      "counter_add", "a counter",
      [](CheckCase& c) -> CheckApply {
        Tensor counter = c.state({}, {41}, DType::i64);
        return [=](Tape& t) {
          counter_add(t, counter, 3);
          return CheckOutputs();
        };
      },
      [](const CheckNumbers&) { return CheckNumbers{{44}}; }));
  rows.push_back(row(
      "counter_add", "modulo",
      [](CheckCase& c) -> CheckApply {
        Tensor counter = c.state({3}, {0, 6, 7}, DType::i64);
        return [=](Tape& t) {
          counter_add(t, counter, 2, 8);
          return CheckOutputs();
        };
      },
      [](const CheckNumbers&) {
        return CheckNumbers{{2, 0, 1}};
      }));
  rows.push_back(timed("counter_add", [](CheckCase& c) -> CheckApply {
    Tensor counter = c.state({70000}, Numbers(70000, 5.0), DType::i64);
    return [=](Tape& t) {
      counter_add(t, counter, 2, 8);
      return CheckOutputs();
    };
  }));
}

}  // namespace

std::vector<CheckRow> state_rows() {
  std::vector<CheckRow> rows;
  for (const Writer2& op : kWriters) {
    for (CheckRow& each : rows_of(op)) rows.push_back(std::move(each));
  }
  other_rows(rows);
  return rows;
}

namespace {

void timed_draws(std::vector<CheckRow>& rows) {
  rows.push_back(timed("uniform", [](CheckCase& c) -> CheckApply {
    Stream& stream = c.stream();
    return [&stream](Tape& t) { return uniform(t, stream, {70000}); };
  }));
  rows.push_back(timed("normal", [](CheckCase& c) -> CheckApply {
    Stream& stream = c.stream();
    return [&stream](Tape& t) { return normal(t, stream, {70000}); };
  }));
  rows.push_back(timed("dropout", [](CheckCase& c) -> CheckApply {
    Stream& stream = c.stream();
    auto x = c.leaf({70000});
    return [&stream, x](Tape& t) { return dropout(t, stream, x(t), 0.5); };
  }));
}

}  // namespace

/// Numbers of a stream that starts at position 5 with seed 11 and id 0, as CheckCase makes the first one.
std::vector<CheckRow> draw_rows() {
  DrawRange range{11, 0, 5, 0};
  std::vector<CheckRow> rows;
  rows.push_back(row(
      "uniform", "a matrix",
      [](CheckCase& c) -> CheckApply {
        Stream& stream = c.stream();
        DType own = c.dtype();
        return [&stream, own](Tape& t) { return uniform(t, stream, {3, 5}, own); };
      },
      [=](const CheckNumbers&) {
        Numbers out;
        for (std::uint64_t i = 0; i < 15; ++i) out.push_back(range.uniform(i));
        return CheckNumbers{out};
      }));
  rows.push_back(row(
      "normal", "an odd count",
      [](CheckCase& c) -> CheckApply {
        Stream& stream = c.stream();
        DType own = c.dtype();
        return [&stream, own](Tape& t) { return normal(t, stream, {7}, own); };
      },
      [=](const CheckNumbers&) {
        Numbers out;
        for (std::uint64_t i = 0; i < 8; i += 2) {
          auto word = [&](std::uint64_t at) { return philox_word(range.seed, range.id, range.position + at); };
          auto [a, b] = normal_pair(word(i), word(i + 1));
          out.push_back(a);
          out.push_back(b);
        }
        out.pop_back();
        return CheckNumbers{out};
      }));
  rows.push_back(row(
      "dropout", "a third dropped",
      [](CheckCase& c) -> CheckApply {
        Stream& stream = c.stream();
        auto x = c.leaf({4, 5});
        return [&stream, x](Tape& t) { return dropout(t, stream, x(t), 0.375); };
      },
      [=](const CheckNumbers& in) {
        Numbers out;
        for (std::size_t i = 0; i < in[0].size(); ++i) out.push_back(range.uniform(i) >= 0.375f ? in[0][i] / 0.625 : 0);
        return CheckNumbers{out};
      }));
  rows.push_back(row("dropout", "two draws of one stream", [](CheckCase& c) -> CheckApply {
    Stream& stream = c.stream();
    auto x = c.leaf({9});
    return [&stream, x](Tape& t) { return dropout(t, stream, dropout(t, stream, x(t), 0.25), 0.25); };
  }));
  timed_draws(rows);
  return rows;
}

}  // namespace reprise::walk
