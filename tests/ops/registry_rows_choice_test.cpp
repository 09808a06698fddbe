
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/select.h"
#include "registry_rows.h"

namespace reprise::walk {

namespace {

struct Comparison {
  const char* name;
  Value (*apply)(Tape&, Arg, Arg);
  bool (*reference)(double, double);
};

const Comparison kComparisons[] = {
    {"less", less, [](double a, double b) { return a < b; }},
    {"less_equal", less_equal, [](double a, double b) { return a <= b; }},
    {"greater", greater, [](double a, double b) { return a > b; }},
    {"greater_equal", greater_equal, [](double a, double b) { return a >= b; }},
    {"equal", equal, [](double a, double b) { return a == b; }},
    {"not_equal", not_equal, [](double a, double b) { return a != b; }},
};

void compare_rows(std::vector<CheckRow>& rows) {
  for (const Comparison& op : kComparisons) {
    auto reference = [op](double a, double b) { return op.reference(a, b) ? 1.0 : 0.0; };
    rows.push_back(row(
        op.name, "with ties",
        [=](CheckCase& c) -> CheckApply {
          auto x = c.input({2, 3}, {1, 2, 3, 3, 2, 1});
          auto y = c.input({3}, {2, 2, 2});
          return [=](Tape& t) { return op.apply(t, x(t), y(t)); };
        },
        each2({2, 3}, {3}, reference)));
    rows.push_back(row(
        op.name, "integers",
        [=](CheckCase& c) -> CheckApply {
          auto x = c.integers({4}, {0, -5, 1LL << 40, 7});
          auto y = c.integers({4}, {0, 5, (1LL << 40) + 1, 6});
          return [=](Tape& t) { return op.apply(t, x(t), y(t)); };
        },
        each2({4}, {4}, reference)));
    rows.push_back(timed(op.name, [=](CheckCase& c) -> CheckApply {
      auto x = c.input({70, 1000});
      auto y = c.input({1000});
      return [=](Tape& t) { return op.apply(t, x(t), y(t)); };
    }));
  }
}

void where_rows(std::vector<CheckRow>& rows) {
  rows.push_back(row(
      "where", "all broadcast",
      [](CheckCase& c) -> CheckApply {
        auto cond = c.integers({3, 1}, {1, 0, 1}, DType::boolean);
        auto a = c.leaf({3, 4});
        auto b = c.leaf({4});
        return [=](Tape& t) { return where(t, cond(t), a(t), b(t)); };
      },
      [](const CheckNumbers& in) {
        std::vector<double> out;
        for (std::size_t i = 0; i < 12; ++i) out.push_back(in[0][i / 4] != 0 ? in[1][i] : in[2][i % 4]);
        return CheckNumbers{out};
      }));
  rows.push_back(row("where", "a float condition and a number", [](CheckCase& c) -> CheckApply {
    auto cond = c.input({5}, {0, 1, -2, 0, 0.5});
    auto a = c.leaf({5});
    return [=](Tape& t) { return where(t, cond(t), a(t), Arg(0.25)); };
  }));
  rows.push_back(timed("where", [](CheckCase& c) -> CheckApply {
    auto cond = c.input({70000});
    auto a = c.leaf({70000});
    auto b = c.leaf({70000});
    return [=](Tape& t) { return where(t, cond(t), a(t), b(t)); };
  }));
}

void pick_rows(std::vector<CheckRow>& rows) {
  rows.push_back(row(
      "argmax", "ties go to the lower index",
      [](CheckCase& c) -> CheckApply {
        auto x = c.input({2, 3}, {1, 3, 3, 5, 5, 2});
        return [=](Tape& t) { return argmax(t, x(t)); };
      },
      [](const CheckNumbers&) {
        return CheckNumbers{{1, 0}};
      }));
  rows.push_back(row("argmax", "along the first axis", [](CheckCase& c) -> CheckApply {
    auto x = c.leaf({4, 3});
    return [=](Tape& t) { return argmax(t, x(t), 0, true); };
  }));
  rows.push_back(timed("argmax", [](CheckCase& c) -> CheckApply {
    auto x = c.leaf({700, 100});
    return [=](Tape& t) { return argmax(t, x(t)); };
  }));
  rows.push_back(row(
      "top_k", "two of four",
      [](CheckCase& c) -> CheckApply {
        auto x = c.leaf({2, 4}, {1, 4, 2, 4, 0, -1, 7, 3});
        return [=](Tape& t) {
          TopK top = top_k(t, x(t), 2);
          return CheckOutputs({top.values, top.indices});
        };
      },
      [](const CheckNumbers&) {
        return CheckNumbers{{4, 4, 7, 3}, {1, 3, 2, 3}};
      }));
  rows.back().columns &= ~kCheckGradient;  // its values are a decision: no gradient passes, though they depend on x
  rows.push_back(row("top_k", "all of one", [](CheckCase& c) -> CheckApply {
    auto x = c.input({5}, {3, 1, 2, 5, 4});
    return [=](Tape& t) {
      TopK top = top_k(t, x(t), 5);
      return CheckOutputs({top.values, top.indices});
    };
  }));
  rows.push_back(timed("top_k", [](CheckCase& c) -> CheckApply {
    auto x = c.input({700, 100});
    return [=](Tape& t) {
      TopK top = top_k(t, x(t), 5);
      return CheckOutputs({top.values, top.indices});
    };
  }));
}

void cast_rows(std::vector<CheckRow>& rows) {
  CheckRow wide = row(
      "cast", "to the other float and back",
      [](CheckCase& c) -> CheckApply {
        auto x = c.leaf({7});
        DType own = c.dtype(), other = own == DType::f32 ? DType::f64 : DType::f32;
        return [=](Tape& t) { return cast(t, cast(t, x(t), other), own); };
      },
      each([](double x) { return x; }));
  wide.straight_through = true;
  rows.push_back(wide);
  CheckRow narrow = row(
      "cast", "through bf16",
      [](CheckCase& c) -> CheckApply {
        auto x = c.leaf({9});
        DType own = c.dtype();
        return [=](Tape& t) { return cast(t, cast(t, x(t), DType::bf16), own); };
      },
      each([](double x) { return static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(x)))); }));
  narrow.straight_through = true;
  rows.push_back(narrow);
  rows.push_back(timed("cast", [](CheckCase& c) -> CheckApply {
    auto x = c.leaf({70000});
    return [=](Tape& t) { return cast(t, x(t), DType::f64); };
  }));
  rows.push_back(row(
      "cast_hard", "truncates",
      [](CheckCase& c) -> CheckApply {
        auto x = c.input({5}, {1.75, -1.75, 0, 3, -0.5});
        return [=](Tape& t) { return cast(t, x(t), DType::i64); };
      },
      each([](double x) { return std::trunc(x); })));
  rows.push_back(row("cast_hard", "from integers", [](CheckCase& c) -> CheckApply {
    auto x = c.integers({4}, {1, -2, 3, 0}, DType::i32);
    DType own = c.dtype();
    return [=](Tape& t) { return cast(t, x(t), own); };
  }));
  rows.push_back(timed("cast_hard", [](CheckCase& c) -> CheckApply {
    auto x = c.input({70000});
    return [=](Tape& t) { return cast(t, x(t), DType::i64); };
  }));
}

}  // namespace

std::vector<CheckRow> choice_rows() {
  std::vector<CheckRow> rows;
  compare_rows(rows);
  where_rows(rows);
  pick_rows(rows);
  cast_rows(rows);
  return rows;
}

}  // namespace reprise::walk
