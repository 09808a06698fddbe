#include "recompute/solver/plan_state.h"

#include <algorithm>

namespace reprise::solver {

RowTree::RowTree(const std::vector<std::int64_t>& rows) : size_(static_cast<std::int32_t>(rows.size())) {
  if (rows.empty()) return;
  while (leaves_ < size_) leaves_ *= 2;
  highest_.assign(2 * leaves_, INT64_MIN / 4);
  added_.assign(2 * leaves_, 0);
  std::copy(rows.begin(), rows.end(), highest_.begin() + leaves_);
  for (std::int32_t i = leaves_ - 1; i > 0; --i) highest_[i] = std::max(highest_[2 * i], highest_[2 * i + 1]);
}

void RowTree::add(std::int32_t first, std::int32_t last, std::int64_t bytes) {
  if (first > last || highest_.empty()) return;
  std::int32_t low = first + leaves_, high = last + leaves_;
  for (std::int32_t l = low, h = high + 1; l < h; l /= 2, h /= 2) {
    auto apply = [&](std::int32_t node) {
      highest_[node] += bytes;
      added_[node] += bytes;
    };
    if (l % 2 == 1) apply(l++);
    if (h % 2 == 1) apply(--h);
  }
  auto renew = [&](std::int32_t node) {
    for (node /= 2; node > 0; node /= 2) {
      highest_[node] = std::max(highest_[2 * node], highest_[2 * node + 1]) + added_[node];
    }
  };
  renew(low);
  renew(high);
}

std::int32_t RowTree::highest_row() const {
  if (highest_.empty()) return -1;
  std::int32_t node = 1;
  while (node < leaves_) node = highest_[2 * node] >= highest_[2 * node + 1] ? 2 * node : 2 * node + 1;
  return node - leaves_;
}

PlanState::PlanState(const Model& model, Assignment assignment)
    : model_(&model), assignment_(std::move(assignment)), rows_(load_of(model, assignment_).rows) {
  time_ = load_of(model, assignment_).time;
  for (const SharedObject& object : model.objects) levels_.push_back(level_of(object, assignment_));
}

void PlanState::add_option(std::size_t variable, std::int64_t sign) {
  const ModelOption& option = model_->variables[variable].options[assignment_[variable]];
  time_ += sign * option.time;
  for (const Span& span : option.spans) rows_.add(span.first, span.last, sign * span.bytes);
}

void PlanState::set(std::size_t variable, std::uint8_t option) {
  if (assignment_[variable] == option) return;
  add_option(variable, -1);
  assignment_[variable] = option;
  add_option(variable, 1);
  for (std::int32_t j : model_->variables[variable].objects) {
    const SharedObject& object = model_->objects[j];
    std::int32_t before = levels_[j], after = level_of(object, assignment_);
    if (before == after) continue;
    levels_[j] = after;
    if (before == 0) time_ += object.time;
    if (after == 0) time_ -= object.time;
    std::int32_t low = std::min(before, after), high = std::max(before, after);
    rows_.add(low == 0 ? object.birth : object.rows[low - 1] + 1, object.rows[high - 1],
              after > before ? object.bytes : -object.bytes);
  }
  work_ += 2 + 2 * static_cast<std::int64_t>(model_->variables[variable].objects.size());
}

}  // namespace reprise::solver
