// Rows of the registry walk: one function per op family, several rows per op, and what the rows share: references in
// plain double loops that know nothing of the kernels.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "recompute/op_check.h"
#include "registry_speeds.h"

namespace reprise::walk {

std::vector<CheckRow> arithmetic_rows();
std::vector<CheckRow> unary_rows();
std::vector<CheckRow> choice_rows();  // compare, select, cast
std::vector<CheckRow> reduce_rows();  // reductions, softmax
std::vector<CheckRow> shape_rows();
std::vector<CheckRow> index_rows();  // rows picked and written by index, queues
std::vector<CheckRow> state_rows();
std::vector<CheckRow> draw_rows();
std::vector<CheckRow> matmul_rows();
std::vector<CheckRow> window_rows();     // convolution, pooling
std::vector<CheckRow> normalize_rows();  // batch norm, layer norm, l2 normalisation
std::vector<CheckRow> loss_rows();

using Build = std::function<CheckApply(CheckCase&)>;
using Reference = std::function<CheckNumbers(const CheckNumbers&)>;

inline CheckRow row(const char* op, std::string label, Build build, Reference reference = nullptr) {
  CheckRow made;
  made.op = op;
  made.label = std::move(label);
  made.build = std::move(build);
  made.reference = std::move(reference);
  return made;
}

/// A row of a large case, timed.
inline CheckRow timed(const char* op, Build build) {
  CheckRow made = row(op, "large", std::move(build));
  made.columns = kCheckSpeed | kCheckDeterminism;
  made.ns_per_element = speed_bound(op);
  return made;
}

/// result[i] = f(operands[0][i]).
inline Reference each(std::function<double(double)> f) {
  return [f](const CheckNumbers& in) {
    std::vector<double> out;
    for (double x : in[0]) out.push_back(f(x));
    return CheckNumbers{out};
  };
}

/// Row-major index into `from`, right-aligned and broadcast, of flat index `flat` of `shape`.
inline std::size_t broadcast_index(std::size_t flat, const Shape& shape, const Shape& from) {
  std::size_t index = 0, stride = 1;
  for (int axis = shape.size() - 1, own = from.size() - 1; axis >= 0; --axis, --own) {
    auto extent = static_cast<std::size_t>(shape[axis]);
    if (own >= 0) {
      if (from[own] != 1) index += flat % extent * stride;
      stride *= static_cast<std::size_t>(from[own]);
    }
    flat /= extent;
  }
  return index;
}

/// result = f(a, b) with a and b broadcast.
inline Reference each2(Shape a, Shape b, std::function<double(double, double)> f) {
  return [=](const CheckNumbers& in) {
    Shape shape;
    broadcast_shapes(a, b, &shape);
    std::vector<double> out(static_cast<std::size_t>(element_count(shape)));
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = f(in[0][broadcast_index(i, shape, a)], in[1][broadcast_index(i, shape, b)]);
    }
    return CheckNumbers{out};
  };
}

}  // namespace reprise::walk
