#include <algorithm>

#include "ops/reduce.h"
#include "ops/softmax.h"
#include "registry_rows.h"

namespace reprise::walk {

namespace {

using Numbers = std::vector<double>;

/// out = f(the n numbers along one axis), for shape [outer, n, inner].
Reference along(std::size_t outer, std::size_t n, std::size_t inner, std::function<Numbers(const Numbers&)> f) {
  return [=](const CheckNumbers& in) {
    Numbers out;
    std::vector<Numbers> lines;
    for (std::size_t o = 0; o < outer; ++o) {
      for (std::size_t i = 0; i < inner; ++i) {
        Numbers line;
        for (std::size_t k = 0; k < n; ++k) line.push_back(in[0][(o * n + k) * inner + i]);
        lines.push_back(f(line));
      }
    }
    std::size_t m = lines[0].size();
    out.resize(outer * m * inner);
    for (std::size_t l = 0; l < lines.size(); ++l) {
      for (std::size_t k = 0; k < m; ++k) out[(l / inner * m + k) * inner + l % inner] = lines[l][k];
    }
    return CheckNumbers{out};
  };
}

Numbers sum_of(const Numbers& x) {
  double s = 0;
  for (double v : x) s += v;
  return {s};
}
Numbers mean_of(const Numbers& x) { return {sum_of(x)[0] / static_cast<double>(x.size())}; }
Numbers max_of(const Numbers& x) { return {*std::max_element(x.begin(), x.end())}; }
Numbers logsumexp_of(const Numbers& x) {
  double top = max_of(x)[0], s = 0;
  for (double v : x) s += std::exp(v - top);
  return {top + std::log(s)};
}
Numbers log_softmax_of(const Numbers& x) {
  double all = logsumexp_of(x)[0];
  Numbers out;
  for (double v : x) out.push_back(v - all);
  return out;
}
Numbers softmax_of(const Numbers& x) {
  Numbers out = log_softmax_of(x);
  for (double& v : out) v = std::exp(v);
  return out;
}

struct Reduction {
  const char* name;
  Value (*all)(Tape&, Arg, bool);
  Value (*axis)(Tape&, Arg, std::int64_t, bool);
  Numbers (*reference)(const Numbers&);
};
const Reduction kReductions[] = {
    {"sum", sum, sum_axis, sum_of}, {"mean", mean, mean_axis, mean_of}, {"max", max, max_axis, max_of}};

struct Normaliser {
  const char* name;
  Value (*apply)(Tape&, Arg, std::int64_t);
  Numbers (*reference)(const Numbers&);
};
const Normaliser kNormalisers[] = {
    {"softmax", softmax, softmax_of},
    {"log_softmax", log_softmax, log_softmax_of},
    {"logsumexp", [](Tape& t, Arg x, std::int64_t axis) { return logsumexp(t, std::move(x), axis); }, logsumexp_of}};

template <class F>
Build of_shape(Shape shape, F apply, CheckFill fill = {-2, 2}) {
  return [=](CheckCase& c) -> CheckApply {
    auto x = c.leaf(shape, fill);
    return [=](Tape& t) { return apply(t, x(t)); };
  };
}

}  // namespace

std::vector<CheckRow> reduce_rows() {
  std::vector<CheckRow> rows;
  for (const Reduction& op : kReductions) {
    auto all = [op](Tape& t, Arg x) { return op.all(t, std::move(x), false); };
    auto by_axis = [op](std::int64_t axis, bool keep) {
      return [=](Tape& t, Arg x) { return op.axis(t, std::move(x), axis, keep); };
    };
    rows.push_back(row(op.name, "all", of_shape({3, 5}, all), along(1, 15, 1, op.reference)));
    rows.push_back(row(op.name, "a scalar", of_shape({}, all), along(1, 1, 1, op.reference)));
    rows.push_back(
        row(op.name, "the last axis", of_shape({2, 3, 4}, by_axis(-1, false)), along(6, 4, 1, op.reference)));
    rows.push_back(
        row(op.name, "the middle axis, kept", of_shape({2, 3, 4}, by_axis(1, true)), along(2, 3, 4, op.reference)));
    rows.push_back(row(op.name, "the first axis", of_shape({5, 4}, by_axis(0, false)), along(1, 5, 4, op.reference)));
    rows.push_back(timed(op.name, of_shape({70, 1000}, all)));
    rows.push_back(timed(op.name, of_shape({700, 100}, by_axis(0, false))));
    rows.back().label = "large, the first axis";
  }
  rows.push_back(row(
      "max", "ties: the first takes the gradient",
      [](CheckCase& c) -> CheckApply {
        auto x = c.input({2, 3}, {2, 2, 1, -1, -1, -1});
        return [=](Tape& t) { return max_axis(t, x(t), 1); };
      },
      [](const CheckNumbers&) {
        return CheckNumbers{{2, -1}};
      }));
  for (const Normaliser& op : kNormalisers) {
    auto by_axis = [op](std::int64_t axis) { return [=](Tape& t, Arg x) { return op.apply(t, std::move(x), axis); }; };
    rows.push_back(row(op.name, "the last axis", of_shape({3, 5}, by_axis(-1)), along(3, 5, 1, op.reference)));
    rows.push_back(row(op.name, "the middle axis", of_shape({2, 3, 4}, by_axis(1)), along(2, 3, 4, op.reference)));
    rows.push_back(row(op.name, "one element", of_shape({4, 1}, by_axis(1)), along(4, 1, 1, op.reference)));
    rows.push_back(row(
        op.name, "numbers whose exponential overflows",
        [=](CheckCase& c) -> CheckApply {
          auto x = c.input({3}, {1000, 999, -1000});
          return [=](Tape& t) { return op.apply(t, x(t), 0); };
        },
        along(1, 3, 1, op.reference)));
    rows.back().f32_absolute = 1e-3;  // of results as large as 1000
    rows.push_back(timed(op.name, of_shape({700, 100}, by_axis(-1))));
  }
  return rows;
}

}  // namespace reprise::walk
