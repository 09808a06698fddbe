#include "recompute/solver/local_search.h"

#include <algorithm>

namespace reprise::solver {
namespace {

struct Move {
  std::int32_t variable = 0;
  std::uint8_t option = 0;
  double rank = 0;
};

std::int64_t bytes_in(const std::vector<Span>& spans, std::int32_t row) {
  std::int64_t bytes = 0;
  for (const Span& span : spans) bytes += span.first <= row && row <= span.last ? span.bytes : 0;
  return bytes;
}

struct Change {
  std::int64_t time = 0, bytes = 0;
};

/// What a change of one variable means for the time and for the bytes of one row.
Change change_of(const Model& model, Assignment& assignment, std::size_t v, std::uint8_t option, std::int32_t row) {
  const Variable& variable = model.variables[v];
  std::uint8_t old = assignment[v];
  Change change{variable.options[option].time - variable.options[old].time,
                bytes_in(variable.options[option].spans, row) - bytes_in(variable.options[old].spans, row)};
  for (std::int32_t j : variable.objects) {
    const SharedObject& object = model.objects[j];
    std::int32_t before = level_of(object, assignment);
    assignment[v] = option;
    std::int32_t after = level_of(object, assignment);
    assignment[v] = old;
    change.time += (after > 0 ? object.time : 0) - (before > 0 ? object.time : 0);
    auto alive = [&](std::int32_t level) { return level > 0 && object.birth <= row && row <= object.rows[level - 1]; };
    change.bytes += (alive(after) ? object.bytes : 0) - (alive(before) ? object.bytes : 0);
  }
  return change;
}

std::vector<Move> moves_that_free(const Model& model, Assignment assignment, std::int32_t row) {
  std::vector<Move> moves;
  for (std::size_t v = 0; v < model.variables.size(); ++v) {
    Move best{static_cast<std::int32_t>(v), assignment[v], 1e300};
    for (std::size_t o = 0; o < model.variables[v].options.size(); ++o) {
      if (o == assignment[v]) continue;
      Change change = change_of(model, assignment, v, static_cast<std::uint8_t>(o), row);
      if (change.bytes >= 0) continue;
      double rank = static_cast<double>(change.time) / static_cast<double>(-change.bytes);
      if (rank < best.rank) best = {best.variable, static_cast<std::uint8_t>(o), rank};
    }
    if (best.rank < 1e300) moves.push_back(best);
  }
  std::stable_sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) { return a.rank < b.rank; });
  return moves;
}

}  // namespace

bool repair(const Dual& dual, PlanState& state, std::int64_t work_limit) {
  const Model& model = dual.model();
  std::int64_t start = state.work();
  for (int pass = 0; pass < 200 && !state.fits(); ++pass) {
    if (work_limit > 0 &&
        state.work() - start + pass * static_cast<std::int64_t>(model.variables.size()) > work_limit) {
      break;
    }
    std::int32_t row = state.peak_row();
    bool moved = false;
    for (const Move& move : moves_that_free(model, state.assignment(), row)) {
      std::int64_t before = state.peak();
      std::uint8_t old = state.assignment()[move.variable];
      state.set(move.variable, move.option);
      if (state.peak() > before) {
        state.set(move.variable, old);
        continue;
      }
      moved = true;
      if (state.fits() || state.peak_row() != row) break;
    }
    if (!moved) return false;
  }
  return state.fits();
}

void hasten(const Dual& dual, PlanState& state, int passes) {
  const Model& model = dual.model();
  for (int pass = 0; pass < passes; ++pass) {
    std::vector<Move> moves;
    for (std::size_t v = 0; v < model.variables.size(); ++v) {
      for (std::size_t o = 0; o < model.variables[v].options.size(); ++o) {
        if (o == state.assignment()[v]) continue;
        moves.push_back({static_cast<std::int32_t>(v), static_cast<std::uint8_t>(o),
                         dual.cost(v, o) - dual.cost(v, state.assignment()[v])});
      }
    }
    std::stable_sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) { return a.rank < b.rank; });
    bool changed = false;
    for (const Move& move : moves) {
      std::uint8_t old = state.assignment()[move.variable];
      if (old == move.option) continue;
      std::int64_t time = state.time();
      state.set(move.variable, move.option);
      if (state.fits() && state.time() < time) {
        changed = true;
      } else {
        state.set(move.variable, old);
      }
    }
    if (!changed) return;
  }
}

void flatten(PlanState& state, std::int64_t work_limit) {
  const Model& model = state.model();
  std::int64_t start = state.work();
  for (int pass = 0; pass < 500; ++pass) {
    if (work_limit > 0 &&
        state.work() - start + pass * static_cast<std::int64_t>(model.variables.size()) > work_limit) {
      return;
    }
    std::int64_t before = state.peak();
    for (const Move& move : moves_that_free(model, state.assignment(), state.peak_row())) {
      std::int64_t peak = state.peak();
      std::uint8_t old = state.assignment()[move.variable];
      state.set(move.variable, move.option);
      if (state.peak() >= peak) state.set(move.variable, old);
    }
    if (state.peak() >= before) return;
  }
}

}  // namespace reprise::solver
