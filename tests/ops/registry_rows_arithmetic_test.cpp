#include "ops/arithmetic.h"
#include "ops/shape_ops.h"
#include "registry_rows.h"

namespace reprise::walk {

namespace {

struct Binary {
  const char* name;
  Value (*apply)(Tape&, Arg, Arg);
  double (*reference)(double, double);
  bool differentiable;
  bool integers;
};

double floor_mod(double a, double b) { return a - std::floor(a / b) * b; }

const Binary kBinaries[] = {
    {"add", add, [](double a, double b) { return a + b; }, true, true},
    {"sub", sub, [](double a, double b) { return a - b; }, true, true},
    {"mul", mul, [](double a, double b) { return a * b; }, true, true},
    {"div", div, [](double a, double b) { return a / b; }, true, false},
    {"mod", mod, floor_mod, false, true},
};

constexpr CheckFill kAwayFromZero{-2, 2, 0.3};

CheckRow pair_row(const Binary& op, std::string label, Shape a, Shape b) {
  return row(
      op.name, std::move(label),
      [=](CheckCase& c) -> CheckApply {
        auto x = op.differentiable ? c.leaf(a, kAwayFromZero) : c.input(a, kAwayFromZero);
        auto y = op.differentiable ? c.leaf(b, kAwayFromZero) : c.input(b, kAwayFromZero);
        return [=](Tape& t) { return op.apply(t, x(t), y(t)); };
      },
      each2(a, b, op.reference));
}

CheckRow strided_row(const Binary& op) {
  return row(op.name, "a transposed operand", [=](CheckCase& c) -> CheckApply {
    auto x = op.differentiable ? c.leaf({3, 4}, kAwayFromZero) : c.input({3, 4}, kAwayFromZero);
    auto y = c.input({4, 3}, kAwayFromZero);
    return [=](Tape& t) { return op.apply(t, transpose(t, copy(t, x(t))), y(t)); };
  });
}

CheckRow integer_row(const Binary& op) {
  return row(
      op.name, "integers",
      [=](CheckCase& c) -> CheckApply {
        auto x = c.integers({2, 3}, {7, -7, 0, 5, -1, 12});
        auto y = c.integers({3}, {3, -4, 5});
        return [=](Tape& t) { return op.apply(t, x(t), y(t)); };
      },
      each2({2, 3}, {3}, op.reference));
}

}  // namespace

std::vector<CheckRow> arithmetic_rows() {
  std::vector<CheckRow> rows;
  for (const Binary& op : kBinaries) {
    rows.push_back(pair_row(op, "one shape", {3, 5}, {3, 5}));
    rows.push_back(pair_row(op, "both broadcast", {3, 1}, {2, 1, 4}));
    rows.push_back(pair_row(op, "a scalar", {}, {5}));
    rows.push_back(pair_row(op, "a row", {4, 3}, {3}));
    rows.push_back(row(op.name, "twice the same operand", [=](CheckCase& c) -> CheckApply {
      auto x = op.differentiable ? c.leaf({6}, kAwayFromZero) : c.input({6}, kAwayFromZero);
      return [=](Tape& t) { return op.apply(t, x(t), x(t)); };
    }));
    rows.push_back(row(op.name, "a number", [=](CheckCase& c) -> CheckApply {
      auto x = op.differentiable ? c.leaf({6}, kAwayFromZero) : c.input({6}, kAwayFromZero);
      return [=](Tape& t) { return op.apply(t, x(t), Arg(1.5)); };
    }));
    rows.push_back(strided_row(op));
    if (op.integers) rows.push_back(integer_row(op));
    rows.push_back(timed(op.name, [=](CheckCase& c) -> CheckApply {
      auto x = op.differentiable ? c.leaf({70, 1000}, kAwayFromZero) : c.input({70, 1000}, kAwayFromZero);
      auto y = op.differentiable ? c.leaf({1000}, kAwayFromZero) : c.input({1000}, kAwayFromZero);
      return [=](Tape& t) { return op.apply(t, x(t), y(t)); };
    }));
  }
  return rows;
}

}  // namespace reprise::walk
