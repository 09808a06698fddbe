#include "recompute/solver/master.h"

#include <algorithm>
#include <cstddef>

namespace reprise::solver {
namespace {

constexpr double kTiny = 1e-11;

/// min cost . w + cap * v with sum w = 1 and, per row, excess . w - v + slack = 0 (all variables not negative), as a
/// tableau whose last row holds the reduced costs. Columns: plans, v, slacks, right-hand side.
class Tableau {
 public:
  Tableau(const std::vector<Column>& columns, double cap)
      : plans_(columns.size()), rows_(columns.front().excess.size()), width_(plans_ + rows_ + 2) {
    cells_.assign((rows_ + 2) * width_, 0);
    for (std::size_t j = 0; j < plans_; ++j) {
      at(0, j) = 1;
      for (std::size_t t = 0; t < rows_; ++t) at(t + 1, j) = columns[j].excess[t];
      at(rows_ + 1, j) = columns[j].cost;
    }
    for (std::size_t t = 0; t < rows_; ++t) {
      at(t + 1, plans_) = -1;
      at(t + 1, plans_ + 1 + t) = 1;
    }
    at(0, width_ - 1) = 1;
    at(rows_ + 1, plans_) = cap;
    start(columns);
  }

  void run() {
    for (int step = 0; step < 2000; ++step) {
      // After many steps without an end the first column, not the best, is taken: that cannot cycle.
      std::size_t enter = width_;
      double best = -1e-10;
      for (std::size_t j = 0; j + 1 < width_; ++j) {
        double reduced = at(rows_ + 1, j);
        if (reduced < best) {
          enter = j;
          if (step > 200) break;
          best = reduced;
        }
      }
      if (enter == width_) return;
      std::size_t leave = rows_ + 2;
      double ratio = 0;
      for (std::size_t i = 0; i <= rows_; ++i) {
        if (at(i, enter) <= kTiny) continue;
        double r = at(i, width_ - 1) / at(i, enter);
        if (leave > rows_ || r < ratio - 1e-14 || (r <= ratio + 1e-14 && basis_[i] < basis_[leave])) {
          leave = i;
          ratio = r;
        }
      }
      if (leave > rows_) return;
      pivot(leave, enter);
    }
  }

  MasterResult result() const {
    MasterResult result;
    result.value = -at(rows_ + 1, width_ - 1);
    for (std::size_t t = 0; t < rows_; ++t) result.prices.push_back(std::max(0.0, at(rows_ + 1, plans_ + 1 + t)));
    result.weights.assign(plans_, 0);
    for (std::size_t i = 0; i <= rows_; ++i) {
      if (basis_[i] < plans_) result.weights[basis_[i]] = std::max(0.0, at(i, width_ - 1));
    }
    return result;
  }

 private:
  double& at(std::size_t i, std::size_t j) { return cells_[i * width_ + j]; }
  double at(std::size_t i, std::size_t j) const { return cells_[i * width_ + j]; }

  /// A first basis: one plan, v in the row that it exceeds most, slacks elsewhere. That plan is the one that exceeds
  /// least, so that the start is near the end.
  void start(const std::vector<Column>& columns) {
    auto worst = [&](std::size_t j) {
      const auto& excess = columns[j].excess;
      return excess.empty() ? 0.0 : *std::max_element(excess.begin(), excess.end());
    };
    std::size_t first = 0;
    for (std::size_t j = 1; j < plans_; ++j) {
      if (worst(j) < worst(first)) first = j;
    }
    basis_.assign(rows_ + 1, 0);
    for (std::size_t t = 0; t < rows_; ++t) basis_[t + 1] = plans_ + 1 + t;
    const auto& excess = columns[first].excess;
    std::size_t most = 0;
    for (std::size_t t = 0; t < rows_; ++t) {
      if (excess[t] > excess[most]) most = t;
    }
    pivot(0, first);
    if (rows_ > 0 && excess[most] > 0) pivot(most + 1, plans_);
  }

  void pivot(std::size_t row, std::size_t column) {
    double by = at(row, column);
    for (std::size_t j = 0; j < width_; ++j) at(row, j) /= by;
    for (std::size_t i = 0; i < rows_ + 2; ++i) {
      double factor = at(i, column);
      if (i == row || factor == 0) continue;
      for (std::size_t j = 0; j < width_; ++j) at(i, j) -= factor * at(row, j);
      at(i, column) = 0;
    }
    basis_[row] = column;
  }

  std::size_t plans_, rows_, width_;
  std::vector<double> cells_;
  std::vector<std::size_t> basis_;
};

}  // namespace

MasterResult solve_master(const std::vector<Column>& columns, double cap) {
  Tableau tableau(columns, cap);
  tableau.run();
  return tableau.result();
}

}  // namespace reprise::solver
