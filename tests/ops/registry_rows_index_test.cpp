#include <algorithm>

#include "ops/queue.h"
#include "ops/row_average.h"
#include "ops/row_state.h"
#include "ops/rows.h"
#include "ops/shape_ops.h"
#include "registry_rows.h"

namespace reprise::walk {

namespace {

using Numbers = std::vector<double>;

std::size_t at(double index, std::size_t n) {
  auto m = static_cast<std::int64_t>(n);
  return static_cast<std::size_t>(((static_cast<std::int64_t>(index) % m) + m) % m);
}

/// gather: table (operand 0, rows of `width`) by index (operand 1).
Reference gathered(std::size_t width) {
  return [=](const CheckNumbers& in) {
    Numbers out;
    for (double index : in[1]) {
      for (std::size_t k = 0; k < width; ++k) out.push_back(in[0][at(index, in[0].size() / width) * width + k]);
    }
    return CheckNumbers{out};
  };
}

void index_rows(std::vector<CheckRow>& rows) {
  rows.push_back(row(
      "gather_rows", "a table, an index twice",
      [](CheckCase& c) -> CheckApply {
        auto table = c.leaf({5, 3});
        auto index = c.integers({4}, {4, 0, 4, 2});
        return [=](Tape& t) { return gather_rows(t, table(t), index(t)); };
      },
      gathered(3)));
  rows.push_back(row(
      "gather_rows", "wrapped, i32, a matrix of indices",
      [](CheckCase& c) -> CheckApply {
        auto table = c.leaf({4, 2});
        auto index = c.integers({2, 3}, {-1, 0, 5, 3, -6, 2}, DType::i32);
        return [=](Tape& t) { return gather_rows(t, table(t), index(t), true); };
      },
      gathered(2)));
  rows.push_back(row("gather_rows", "a vector of states", [](CheckCase& c) -> CheckApply {
    Tensor table = c.state({6});
    auto index = c.integers({3}, {5, 1, 3});
    return [=](Tape& t) { return gather_rows(t, table, index(t)); };
  }));
  rows.push_back(row(
      "gather_rows", "an embedding",
      [](CheckCase& c) -> CheckApply {
        auto table = c.leaf({7, 4});
        auto index = c.integers({5}, {6, 0, 0, 3, 6});
        return [=](Tape& t) { return embedding(t, table(t), index(t)); };
      },
      gathered(4)));
  rows.push_back(timed("gather_rows", [](CheckCase& c) -> CheckApply {
    auto table = c.leaf({700, 100});
    Numbers index(500);
    for (std::size_t i = 0; i < index.size(); ++i) index[i] = static_cast<double>(i * 37 % 700);
    auto rows = c.integers({500}, index);
    return [=](Tape& t) { return gather_rows(t, table(t), rows(t)); };
  }));
}

void scatter_rows(std::vector<CheckRow>& rows) {
  rows.push_back(row(
      "scatter_add_rows", "indices that repeat",
      [](CheckCase& c) -> CheckApply {
        auto source = c.leaf({4, 2});
        auto index = c.integers({4}, {2, 0, 2, 2});
        return [=](Tape& t) { return scatter_add_rows(t, source(t), index(t), 4); };
      },
      [](const CheckNumbers& in) {
        Numbers out(8, 0.0);
        for (std::size_t i = 0; i < 8; ++i) out[static_cast<std::size_t>(in[1][i / 2]) * 2 + i % 2] += in[0][i];
        return CheckNumbers{out};
      }));
  rows.push_back(row("scatter_add_rows", "wrapped scalars", [](CheckCase& c) -> CheckApply {
    auto source = c.leaf({3});
    auto index = c.integers({3}, {-1, 0, 4});
    return [=](Tape& t) { return scatter_add_rows(t, source(t), index(t), 3, true); };
  }));
  rows.push_back(timed("scatter_add_rows", [](CheckCase& c) -> CheckApply {
    auto source = c.leaf({500, 100});
    Numbers index(500);
    for (std::size_t i = 0; i < index.size(); ++i) index[i] = static_cast<double>(i * 37 % 300);
    auto rows = c.integers({500}, index);
    return [=](Tape& t) { return scatter_add_rows(t, source(t), rows(t), 300); };
  }));
}

struct RowWriter {
  const char* name;
  void (*apply)(Tape&, Arg, Arg, Arg, bool);
  double (*reference)(double, double);
};

const RowWriter kWriters[] = {
    {"assign_rows", assign_rows, [](double, double v) { return v; }},
    {"add_rows", add_rows, [](double o, double v) { return o + v; }},
    {"mul_rows", mul_rows, [](double o, double v) { return o * v; }},
};

/// State or value (operand 0, rows of 2), rows (1), values (2) of one row or one per index.
Reference written(double (*f)(double, double)) {
  return [=](const CheckNumbers& in) {
    Numbers out = in[0];
    for (std::size_t i = 0; i < in[1].size(); ++i) {
      for (std::size_t k = 0; k < 2; ++k) {
        double& to = out[at(in[1][i], out.size() / 2) * 2 + k];
        to = f(to, in[2][in[2].size() == 2 ? k : i * 2 + k]);
      }
    }
    return CheckNumbers{out};
  };
}

void state_rows(const RowWriter& op, std::vector<CheckRow>& rows) {
  rows.push_back(row(
      op.name, "rows of a state",
      [=](CheckCase& c) -> CheckApply {
        Tensor to = c.state({5, 2});
        auto index = c.integers({3}, {4, 0, 2});
        auto value = c.leaf({3, 2});
        return [=](Tape& t) {
          op.apply(t, to, index(t), value(t), false);
          return CheckOutputs();
        };
      },
      written(op.reference)));
  rows.push_back(row(
      op.name, "one row for all, wrapped",
      [=](CheckCase& c) -> CheckApply {
        Tensor to = c.state({5, 2});
        auto index = c.integers({2}, {-1, 6});
        auto value = c.input({2});
        return [=](Tape& t) {
          op.apply(t, to, index(t), value(t), true);
          return CheckOutputs();
        };
      },
      written(op.reference)));
}

std::vector<CheckRow> rows_of(const RowWriter& op) {
  std::vector<CheckRow> rows;
  state_rows(op, rows);
  rows.push_back(row(
      op.name, "a value in place",
      [=](CheckCase& c) -> CheckApply {
        auto to = c.leaf({4, 2});
        auto index = c.integers({2}, {3, 1});
        auto value = c.leaf({2, 2});
        return [=](Tape& t) {
          Value y = copy(t, to(t));
          op.apply(t, y, index(t), value(t), false);
          return CheckOutputs(y);
        };
      },
      written(op.reference)));
  rows.push_back(row(op.name, "a value whose old bytes are owed", [=](CheckCase& c) -> CheckApply {
    auto to = c.leaf({4, 2});
    auto index = c.integers({1}, {2});
    auto value = c.leaf({2});
    return [=](Tape& t) {
      Value y = copy(t, to(t));
      Value before = gather_rows(t, y, index(t));
      op.apply(t, y, index(t), value(t), false);
      return CheckOutputs({before, y});
    };
  }));
  rows.push_back(timed(op.name, [=](CheckCase& c) -> CheckApply {
    Tensor to = c.state({700, 100});
    Numbers index(500);
    for (std::size_t i = 0; i < index.size(); ++i) index[i] = static_cast<double>(i * 37 % 700);
    auto rows = c.integers({500}, index);
    auto value = c.input({500, 100});
    return [=](Tape& t) {
      op.apply(t, to, rows(t), value(t), false);
      return CheckOutputs();
    };
  }));
  return rows;
}

Build ring(Shape queue, Shape keys, std::int64_t position) {
  return [=](CheckCase& c) -> CheckApply {
    Tensor to = c.state(queue);
    auto from = c.leaf(keys);
    return [=](Tape& t) {
      enqueue_ring(t, to, from(t), position);
      return CheckOutputs();
    };
  };
}

Build shift(Shape queue, Shape keys, bool at_back) {
  return [=](CheckCase& c) -> CheckApply {
    Tensor to = c.state(queue);
    auto from = c.leaf(keys);
    return [=](Tape& t) {
      enqueue_shift(t, to, from(t), at_back);
      return CheckOutputs();
    };
  };
}

Reference shifted(bool at_back) {
  return [=](const CheckNumbers& in) {
    Numbers out = at_back ? Numbers(in[0].begin() + static_cast<std::ptrdiff_t>(in[1].size()), in[0].end()) : in[1];
    const Numbers& next = at_back ? in[1] : in[0];
    out.insert(out.end(), next.begin(), next.end());
    out.resize(in[0].size());
    return CheckNumbers{out};
  };
}

void queue_rows(std::vector<CheckRow>& rows) {
  rows.push_back(row("enqueue_ring", "in the middle", ring({6, 2}, {2, 2}, 1), [](const CheckNumbers& in) {
    Numbers out = in[0];
    std::copy(in[1].begin(), in[1].end(), out.begin() + 2);
    return CheckNumbers{out};
  }));
  rows.push_back(row("enqueue_ring", "round the end", ring({5, 2}, {3, 2}, 4), [](const CheckNumbers& in) {
    Numbers out = in[0];
    for (std::size_t i = 0; i < 6; ++i) out[(8 + i) % 10] = in[1][i];
    return CheckNumbers{out};
  }));
  rows.push_back(row("enqueue_ring", "all of it", ring({4}, {4}, 3)));
  rows.push_back(row("enqueue_ring", "a value in place", [](CheckCase& c) -> CheckApply {
    auto to = c.leaf({5, 2});
    auto from = c.leaf({2, 2});
    return [=](Tape& t) {
      Value y = copy(t, to(t));
      enqueue_ring(t, y, from(t), 4);
      return CheckOutputs(y);
    };
  }));
  rows.push_back(timed("enqueue_ring", ring({700, 100}, {500, 100}, 300)));
  rows.push_back(row("enqueue_shift", "at the front", shift({5, 2}, {2, 2}, false), shifted(false)));
  rows.push_back(row("enqueue_shift", "at the back", shift({5, 2}, {2, 2}, true), shifted(true)));
  rows.push_back(row("enqueue_shift", "all of it", shift({3, 2}, {3, 2}, false), shifted(false)));
  rows.push_back(row("enqueue_shift", "a value in place", [](CheckCase& c) -> CheckApply {
    auto to = c.leaf({5, 2});
    auto from = c.leaf({2, 2});
    return [=](Tape& t) {
      Value y = copy(t, to(t));
      enqueue_shift(t, y, from(t), true);
      return CheckOutputs(y);
    };
  }));
  rows.push_back(timed("enqueue_shift", shift({700, 100}, {100, 100}, false)));
}

/// Target (operand 0, rows of `width`), rows (1), values (2), of which `shared` neighbours in the list share one.
Reference averaged(double keep, std::size_t width, std::size_t shared) {
  return [=](const CheckNumbers& in) {
    Numbers out = in[0], sums(out.size(), 0.0), counts(out.size(), 0.0);
    for (std::size_t i = 0; i < in[1].size(); ++i) {
      for (std::size_t k = 0; k < width; ++k) {
        std::size_t to = static_cast<std::size_t>(in[1][i]) * width + k;
        sums[to] += in[2][i / shared * width + k];
        counts[to] += 1;
      }
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (counts[i] > 0) out[i] = keep * out[i] + (1 - keep) * sums[i] / counts[i];
    }
    return CheckNumbers{out};
  };
}

void average_rows(std::vector<CheckRow>& rows) {
  rows.push_back(row(
      "ema_rows", "rows that repeat, of a state",
      [](CheckCase& c) -> CheckApply {
        Tensor to = c.state({5, 3});
        auto index = c.integers({4}, {4, 0, 4, 2});
        auto value = c.leaf({4, 3});
        return [=](Tape& t) {
          ema_rows(t, to, index(t), value(t), 0.75);
          return CheckOutputs();
        };
      },
      averaged(0.75, 3, 1)));
  rows.push_back(row(
      "ema_rows", "one value for several rows of a value",
      [](CheckCase& c) -> CheckApply {
        auto to = c.leaf({4, 2});
        auto index = c.integers({2, 3}, {3, 1, 3, 1, 0, 3}, DType::i32);
        auto value = c.leaf({2, 1, 2});
        return [=](Tape& t) {
          Value y = copy(t, to(t));
          ema_rows(t, y, index(t), value(t), 0.25);
          return CheckOutputs(y);
        };
      },
      averaged(0.25, 2, 3)));
  rows.push_back(row("ema_rows", "rows that lie apart, wider than a block", [](CheckCase& c) -> CheckApply {
    Tensor to = c.state({4, 80}).with_view({2, 70}, {160, 1}, 5);
    auto index = c.integers({3}, {1, 0, 1});
    auto value = c.input({3, 70});
    return [=](Tape& t) {
      ema_rows(t, to, index(t), value(t), 0.5);
      return CheckOutputs();
    };
  }));
  rows.push_back(timed("ema_rows", [](CheckCase& c) -> CheckApply {
    Tensor to = c.state({700, 100});
    Numbers index(500);
    for (std::size_t i = 0; i < index.size(); ++i) index[i] = static_cast<double>(i * 37 % 300);
    auto rows = c.integers({500}, index);
    auto value = c.input({500, 100});
    return [=](Tape& t) {
      ema_rows(t, to, rows(t), value(t), 0.5);
      return CheckOutputs();
    };
  }));
}

void count_rows_rows(std::vector<CheckRow>& rows) {
  rows.push_back(row(
      "count_rows", "rows that repeat",
      [](CheckCase& c) -> CheckApply {
        Tensor counter = c.state({4}, {7, 0, 2, 1}, DType::i64);
        auto index = c.integers({2, 2}, {3, 0, 3, 3});
        return [=](Tape& t) {
          count_rows(t, counter, index(t));
          return CheckOutputs();
        };
      },
      [](const CheckNumbers&) {
        return CheckNumbers{{8, 0, 2, 4}};
      }));
  rows.push_back(timed("count_rows", [](CheckCase& c) -> CheckApply {
    Tensor counter = c.state({5000}, Numbers(5000, 0.0), DType::i64);
    Numbers index(50000);
    for (std::size_t i = 0; i < index.size(); ++i) index[i] = static_cast<double>(i * 37 % 5000);
    auto rows = c.integers({50000}, index);
    return [=](Tape& t) {
      count_rows(t, counter, rows(t));
      return CheckOutputs();
    };
  }));
}

}  // namespace

std::vector<CheckRow> index_rows() {
  std::vector<CheckRow> rows;
  index_rows(rows);
  scatter_rows(rows);
  for (const RowWriter& op : kWriters) {
    for (CheckRow& each : rows_of(op)) rows.push_back(std::move(each));
  }
  average_rows(rows);
  count_rows_rows(rows);
  queue_rows(rows);
  return rows;
}

}  // namespace reprise::walk
