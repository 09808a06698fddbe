#include "ops/unary.h"

#include "core/dtype.h"
#include "ops/shape_ops.h"
#include "registry_rows.h"

namespace reprise::walk {

namespace {

struct Unary {
  const char* name;
  Value (*apply)(Tape&, Arg);
  double (*reference)(double);
  CheckFill fill;
};

double to_bf16(double x) { return static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(x)))); }

const Unary kUnaries[] = {
    {"neg", neg, [](double x) { return -x; }, {-2, 2}},
    {"abs", abs, [](double x) { return std::abs(x); }, {-2, 2, 0.1}},
    {"exp", exp, [](double x) { return std::exp(x); }, {-3, 3}},
    {"log", log, [](double x) { return std::log(x); }, {0.2, 4}},
    {"sqrt", sqrt, [](double x) { return std::sqrt(x); }, {0.2, 4}},
    {"sin", sin, [](double x) { return std::sin(x); }, {-4, 4}},
    {"cos", cos, [](double x) { return std::cos(x); }, {-4, 4}},
    {"tanh", tanh, [](double x) { return std::tanh(x); }, {-3, 3}},
    {"sigmoid", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, {-5, 5}},
    {"relu", relu, [](double x) { return x > 0 ? x : 0; }, {-2, 2, 0.1}},
    {"gelu", gelu, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }, {-3, 3}},
    {"silu", silu, [](double x) { return x / (1 + std::exp(-x)); }, {-5, 5}},
    {"clamp",
     [](Tape& t, Arg x) { return clamp(t, std::move(x), -0.5, 0.75); },
     [](double x) { return std::min(std::max(x, -0.5), 0.75); },
     {-2, 2}},
    {"round", round, [](double x) { return std::nearbyint(x); }, {-3, 3}},
    {"round_bf16", round_bf16, to_bf16, {-3, 3}},
};

bool straight(const Unary& op) { return std::string(op.name).starts_with("round"); }

CheckRow with_op(const Unary& op, std::string label, Build build, Reference reference = nullptr) {
  CheckRow made = row(op.name, std::move(label), std::move(build), std::move(reference));
  made.straight_through = straight(op);
  return made;
}

std::vector<CheckRow> rows_of(const Unary& op) {
  std::vector<CheckRow> rows;
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{2, 3, 5}}) {
    rows.push_back(with_op(
        op, "shape " + to_string(shape),
        [=](CheckCase& c) -> CheckApply {
          auto x = c.leaf(shape, op.fill);
          return [=](Tape& t) { return op.apply(t, x(t)); };
        },
        each(op.reference)));
  }
  rows.push_back(row(op.name, "a transposed operand", [=](CheckCase& c) -> CheckApply {
    auto x = c.input({3, 4}, op.fill);
    return [=](Tape& t) { return op.apply(t, transpose(t, copy(t, x(t)))); };
  }));
  rows.push_back(row(op.name, "no elements", [=](CheckCase& c) -> CheckApply {
    auto x = c.input({0, 3}, op.fill);
    return [=](Tape& t) { return op.apply(t, x(t)); };
  }));
  rows.push_back(timed(op.name, [=](CheckCase& c) -> CheckApply {
    auto x = c.leaf({70000}, op.fill);
    return [=](Tape& t) { return op.apply(t, x(t)); };
  }));
  return rows;
}

}  // namespace

std::vector<CheckRow> unary_rows() {
  std::vector<CheckRow> rows;
  for (const Unary& op : kUnaries) {
    for (CheckRow& each : rows_of(op)) rows.push_back(std::move(each));
  }
  for (const Unary& op : {kUnaries[0], kUnaries[1]}) {
    rows.push_back(row(
        op.name, "integers",
        [=](CheckCase& c) -> CheckApply {
          auto x = c.integers({5}, {3, -3, 0, 1000000007, -1});
          return [=](Tape& t) { return op.apply(t, x(t)); };
        },
        each(op.reference)));
  }
  CheckRow ties = row(
      "round", "halves go to the even number",
      [](CheckCase& c) -> CheckApply {
        auto x = c.leaf({6}, {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5});
        return [=](Tape& t) { return round(t, x(t)); };
      },
      [](const CheckNumbers&) {
        return CheckNumbers{{-2, -2, 0, 0, 2, 2}};
      });
  ties.straight_through = true;
  rows.push_back(ties);
  rows.push_back(row(
      "relu", "saturated and at zero",
      [](CheckCase& c) -> CheckApply {
        auto x = c.input({4}, {0, -1e30, 1e30, 5});
        return [=](Tape& t) { return relu(t, x(t)); };
      },
      [](const CheckNumbers& in) {
        return CheckNumbers{{0, 0, in[0][2], 5}};
      }));
  rows.push_back(row(
      "sigmoid", "saturated",
      [](CheckCase& c) -> CheckApply {
        auto x = c.input({2}, {-800, 800});
        return [=](Tape& t) { return sigmoid(t, x(t)); };
      },
      [](const CheckNumbers&) {
        return CheckNumbers{{0, 1}};
      }));
  rows.push_back(row(
      "silu", "saturated",
      [](CheckCase& c) -> CheckApply {
        auto x = c.input({3}, {-800, 0, 800});
        return [=](Tape& t) { return silu(t, x(t)); };
      },
      [](const CheckNumbers&) {
        return CheckNumbers{{0, 0, 800}};
      }));
  return rows;
}

}  // namespace reprise::walk
