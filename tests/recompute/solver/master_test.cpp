// The best row prices of a handful of plans: against every candidate where there is one row, and by duality, which
// proves a solution to be the best one, where there are more.
#include "recompute/solver/master.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

namespace reprise::solver {
namespace {

double priced(const Column& column, const std::vector<double>& prices) {
  double value = column.cost;
  for (std::size_t t = 0; t < prices.size(); ++t) value += prices[t] * column.excess[t];
  return value;
}

double least_priced(const std::vector<Column>& columns, const std::vector<double>& prices) {
  double least = INFINITY;
  for (const Column& column : columns) least = std::min(least, priced(column, prices));
  return least;
}

std::vector<Column> some_columns(std::size_t rows) {
  std::vector<Column> columns(*rc::gen::inRange<std::size_t>(1, 7));
  for (Column& column : columns) {
    column.cost = *rc::gen::inRange(0, 50);
    for (std::size_t t = 0; t < rows; ++t) column.excess.push_back(*rc::gen::inRange(-20, 20));
  }
  return columns;
}

RC_GTEST_PROP(Master, OneRowHasTheBestOfAllCrossings, ()) {
  std::vector<Column> columns = some_columns(1);
  double cap = *rc::gen::inRange(1, 40);
  // The least of straight lines is highest at an end or where two lines cross.
  std::vector<double> candidates = {0, cap};
  for (const Column& a : columns) {
    for (const Column& b : columns) {
      double slope = a.excess[0] - b.excess[0];
      if (slope != 0) candidates.push_back((b.cost - a.cost) / slope);
    }
  }
  double best = -INFINITY;
  for (double price : candidates) {
    if (price >= 0 && price <= cap) best = std::max(best, least_priced(columns, {price}));
  }
  RC_ASSERT(std::abs(solve_master(columns, cap).value - best) < 1e-6);
}

RC_GTEST_PROP(Master, PricesAndMixtureProveEachOther, ()) {
  auto rows = *rc::gen::inRange<std::size_t>(1, 5);
  std::vector<Column> columns = some_columns(rows);
  double cap = *rc::gen::inRange(1, 40);
  MasterResult result = solve_master(columns, cap);
  RC_ASSERT(result.prices.size() == rows);
  RC_ASSERT(result.weights.size() == columns.size());
  double sum = 0, mass = 0, cost = 0, most = 0;
  for (double price : result.prices) {
    RC_ASSERT(price >= 0);
    sum += price;
  }
  for (std::size_t j = 0; j < columns.size(); ++j) {
    RC_ASSERT(result.weights[j] >= 0);
    mass += result.weights[j];
    cost += result.weights[j] * columns[j].cost;
  }
  for (std::size_t t = 0; t < rows; ++t) {
    double excess = 0;
    for (std::size_t j = 0; j < columns.size(); ++j) excess += result.weights[j] * columns[j].excess[t];
    most = std::max(most, excess);
  }
  RC_ASSERT(sum <= cap + 1e-6);
  RC_ASSERT(std::abs(mass - 1) < 1e-6);
  // No prices can do better than this mixture costs, and no mixture can cost less than these prices reach.
  RC_ASSERT(std::abs(least_priced(columns, result.prices) - result.value) < 1e-6);
  RC_ASSERT(std::abs(cost + cap * most - result.value) < 1e-6);
}

}  // namespace
}  // namespace reprise::solver
