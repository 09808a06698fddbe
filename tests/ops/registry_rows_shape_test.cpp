#include "ops/shape_ops.h"
#include "registry_rows.h"

namespace reprise::walk {

namespace {

Reference identity() {
  return each([](double x) { return x; });
}

/// Views are followed by a copy in these rows, so that their bytes are compared and replayed.
template <class F>
Build viewed(Shape shape, F apply) {
  return [=](CheckCase& c) -> CheckApply {
    auto x = c.leaf(shape);
    return [=](Tape& t) { return copy(t, apply(t, x(t))); };
  };
}

template <class F>
Build plain(Shape shape, F apply) {
  return [=](CheckCase& c) -> CheckApply {
    auto x = c.leaf(shape);
    return [=](Tape& t) { return apply(t, x(t)); };
  };
}

Value reshaped(Tape& t, Arg x) { return reshape(t, std::move(x), {2, -1}); }
Value swapped(Tape& t, Arg x) { return transpose(t, std::move(x)); }
Value turned(Tape& t, Arg x) { return transpose(t, std::move(x), {2, 0, 1}); }
Value every_second(Tape& t, Arg x) { return slice(t, std::move(x), 0, 1, 6, 2); }
Value last_column(Tape& t, Arg x) { return slice(t, std::move(x), 1, -1, 3); }

void view_rows(std::vector<CheckRow>& rows) {
  rows.push_back(row("reshape", "an inferred extent", viewed({3, 4}, reshaped), identity()));
  rows.push_back(row("reshape", "an output that is the view itself", plain({3, 4}, reshaped), identity()));
  rows.push_back(row("reshape", "of a transposed view",
                     viewed({3, 4}, [](Tape& t, Arg x) { return reshape(t, transpose(t, std::move(x)), {12}); }),
                     [](const CheckNumbers& in) {
                       std::vector<double> out;
                       for (std::size_t i = 0; i < 12; ++i) out.push_back(in[0][i % 3 * 4 + i / 3]);
                       return CheckNumbers{out};
                     }));
  rows.push_back(row("transpose", "two axes", viewed({2, 3}, swapped), [](const CheckNumbers& in) {
    const auto& x = in[0];
    return CheckNumbers{{x[0], x[3], x[1], x[4], x[2], x[5]}};
  }));
  rows.push_back(row("transpose", "three axes", viewed({2, 3, 4}, turned)));
  rows.push_back(row("transpose", "an output that is the view itself", plain({2, 3}, swapped)));
  rows.push_back(row("slice", "every second row", viewed({6, 2}, every_second), [](const CheckNumbers& in) {
    const auto& x = in[0];
    return CheckNumbers{{x[2], x[3], x[6], x[7], x[10], x[11]}};
  }));
  rows.push_back(row("slice", "a column from the end", viewed({2, 3}, last_column), [](const CheckNumbers& in) {
    return CheckNumbers{{in[0][2], in[0][5]}};
  }));
  rows.push_back(row("slice", "an output that is the view itself", plain({6, 2}, every_second)));
  rows.push_back(timed("reshape", viewed({70, 1000}, reshaped)));
  rows.push_back(timed("transpose", viewed({70, 1000}, swapped)));
  rows.push_back(timed("slice", viewed({70, 1000}, [](Tape& t, Arg x) { return slice(t, std::move(x), 0, 0, 60); })));
}

void stop_rows(std::vector<CheckRow>& rows) {
  rows.push_back(row(
      "stop_gradient", "half of a product",
      [](CheckCase& c) -> CheckApply {
        auto x = c.input({5});
        return [=](Tape& t) { return copy(t, stop_gradient(t, x(t))); };
      },
      identity()));
  rows.push_back(timed("stop_gradient", [](CheckCase& c) -> CheckApply {
    auto x = c.input({70000});
    return [=](Tape& t) { return copy(t, stop_gradient(t, x(t))); };
  }));
}

Build joined(Shape a, Shape b, std::int64_t axis) {
  return [=](CheckCase& c) -> CheckApply {
    auto x = c.leaf(a);
    auto y = c.leaf(b);
    return [=](Tape& t) {
      Arg parts[] = {x(t), y(t), x(t)};
      return concat(t, parts, axis);
    };
  };
}

void copy_rows(std::vector<CheckRow>& rows) {
  rows.push_back(row("concat", "rows", joined({2, 3}, {1, 3}, 0), [](const CheckNumbers& in) {
    std::vector<double> out = in[0];
    out.insert(out.end(), in[1].begin(), in[1].end());
    out.insert(out.end(), in[0].begin(), in[0].end());
    return CheckNumbers{out};
  }));
  rows.push_back(row("concat", "columns", joined({2, 2}, {2, 1}, -1), [](const CheckNumbers& in) {
    const auto &a = in[0], &b = in[1];
    return CheckNumbers{{a[0], a[1], b[0], a[0], a[1], a[2], a[3], b[1], a[2], a[3]}};
  }));
  rows.push_back(row(
      "concat", "one part",
      [](CheckCase& c) -> CheckApply {
        auto x = c.leaf({4});
        return [=](Tape& t) {
          Arg part = x(t);
          return concat(t, std::span(&part, 1));
        };
      },
      identity()));
  rows.push_back(row("concat", "integers", [](CheckCase& c) -> CheckApply {
    auto x = c.integers({2}, {1, 2});
    return [=](Tape& t) {
      Arg parts[] = {x(t), x(t)};
      return concat(t, parts);
    };
  }));
  rows.push_back(
      row("copy", "a matrix", plain({3, 4}, [](Tape& t, Arg x) { return copy(t, std::move(x)); }), identity()));
  rows.push_back(row("copy", "a transposed view",
                     plain({3, 4}, [](Tape& t, Arg x) { return copy(t, transpose(t, std::move(x))); })));
  rows.push_back(row(
      "copy", "bytes",
      [](CheckCase& c) -> CheckApply {
        auto x = c.integers({4}, {0, 255, 7, 1}, DType::u8);
        return [=](Tape& t) { return copy(t, x(t)); };
      },
      identity()));
  rows.push_back(timed("concat", joined({300, 100}, {100, 100}, 0)));
  rows.push_back(timed("copy", plain({70000}, [](Tape& t, Arg x) { return copy(t, std::move(x)); })));
}

}  // namespace

std::vector<CheckRow> shape_rows() {
  std::vector<CheckRow> rows;
  view_rows(rows);
  stop_rows(rows);
  copy_rows(rows);
  return rows;
}

}  // namespace reprise::walk
