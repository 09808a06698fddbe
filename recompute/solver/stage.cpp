#include "recompute/solver/stage.h"

#include <algorithm>
#include <map>

namespace reprise::solver {

Stages::Stages(const Dual& dual, const std::vector<std::int32_t>& rows)
    : dual_(dual), model_(dual.model()), rows_(rows) {
  object_place_.assign(model_.objects.size(), -1);
  class_place_.assign(model_.variables.size(), -1);
  potentials_.resize(dual.factors().all().size());
  has_potential_.assign(potentials_.size(), false);
  if (!rows_.empty()) {
    groups_.emplace_back(rows_.size());
    for (std::size_t e = 0; e < rows_.size(); ++e) groups_[0][e] = static_cast<std::int32_t>(e);
  }
  find_last_stages();
  find_limits();
  start_bound_ = dual.bound();
}

void Stages::find_last_stages() {
  last_of_object_.assign(model_.objects.size(), -1);
  last_of_class_.assign(model_.variables.size(), -1);
  for (std::size_t j = 0; j < model_.objects.size(); ++j) {
    for (const ModelUse& use : model_.objects[j].uses) {
      last_of_object_[j] = std::max({last_of_object_[j], use.variable, use.class_variable});
      if (use.class_variable >= 0) {
        last_of_class_[use.class_variable] = std::max(last_of_class_[use.class_variable], use.variable);
      }
    }
  }
  last_stage_.assign(rows_.size(), -1);
  auto reach = [&](std::int32_t first, std::int32_t last, std::int32_t stage) {
    auto e = std::lower_bound(rows_.begin(), rows_.end(), first) - rows_.begin();
    for (; e < static_cast<std::ptrdiff_t>(rows_.size()) && rows_[e] <= last; ++e) {
      last_stage_[e] = std::max(last_stage_[e], stage);
    }
  };
  for (std::size_t v = 0; v < model_.variables.size(); ++v) {
    auto stage = static_cast<std::int32_t>(v);
    for (const ModelOption& option : model_.variables[v].options) {
      for (const Span& span : option.spans) reach(span.first, span.last, stage);
    }
  }
  for (const SharedObject& object : model_.objects) {
    for (const ModelUse& use : object.uses) {
      reach(object.birth, object.rows[use.level - 1], std::max(use.variable, use.class_variable));
    }
  }
}

void Stages::find_limits() {
  least_ahead_.assign(rows_.size(), 0);
  most_ahead_.assign(rows_.size(), 0);
  for (std::size_t v = 0; v < model_.variables.size(); ++v) add_limits(v, 1);
  for (std::size_t j = 0; j < model_.objects.size(); ++j) {
    const SharedObject& object = model_.objects[j];
    for (std::size_t e = 0; e < rows_.size(); ++e) {
      if (rows_[e] >= object.birth && rows_[e] <= object.rows.back()) most_ahead_[e] += object.bytes;
    }
  }
}

/// Adds, or takes away, the least and the most that a variable's own bytes can be in every row.
void Stages::add_limits(std::size_t variable, std::int64_t sign) {
  const auto& options = model_.variables[variable].options;
  std::map<std::int32_t, std::vector<std::pair<std::size_t, std::int64_t>>> changes;
  for (std::size_t o = 0; o < options.size(); ++o) {
    for (const Span& span : options[o].spans) {
      changes[span.first].emplace_back(o, span.bytes);
      changes[span.last + 1].emplace_back(o, -span.bytes);
    }
  }
  std::vector<std::int64_t> bytes(options.size(), 0);
  for (auto it = changes.begin(); it != changes.end(); ++it) {
    for (auto [o, change] : it->second) bytes[o] += change;
    auto next = std::next(it);
    if (next == changes.end()) break;
    auto [low, high] = std::minmax_element(bytes.begin(), bytes.end());
    if (*high == 0) continue;
    auto e = std::lower_bound(rows_.begin(), rows_.end(), it->first) - rows_.begin();
    for (; e < static_cast<std::ptrdiff_t>(rows_.size()) && rows_[e] < next->first; ++e) {
      least_ahead_[e] += sign * *low;
      most_ahead_[e] += sign * *high;
    }
  }
}

const Stage& Stages::next() {
  stage_ = Stage{};
  stage_.variable = now_;
  add_limits(now_, -1);
  split_groups();
  for (const Rows& group : groups_) {
    std::int64_t room = INT64_MAX;
    for (std::int32_t e : group) room = std::min(room, model_.budget - model_.base[rows_[e]] - least_ahead_[e]);
    stage_.room.push_back(room);
  }
  place_spans();
  place_objects();
  arrange_key();
  drop_closed();
  ++now_;
  return stage_;
}

/// Cuts groups where a span of this variable can begin or end, so that each span covers whole groups.
void Stages::split_groups() {
  std::vector<std::int32_t> cuts;
  const Variable& variable = model_.variables[now_];
  for (const ModelOption& option : variable.options) {
    for (const Span& span : option.spans) cuts.insert(cuts.end(), {span.first, span.last + 1});
  }
  for (std::int32_t j : variable.objects) {
    const SharedObject& object = model_.objects[j];
    cuts.push_back(object.birth);
    for (std::int32_t row : object.rows) cuts.push_back(row + 1);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<Rows> split;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    auto begin = groups_[g].begin(), end = groups_[g].end();
    while (begin != end) {
      auto cut = std::upper_bound(cuts.begin(), cuts.end(), rows_[*begin]);
      auto stop = cut == cuts.end() ? end : std::find_if(begin, end, [&](std::int32_t e) { return rows_[e] >= *cut; });
      split.emplace_back(begin, stop);
      stage_.old_group.push_back(static_cast<std::int32_t>(g));
      begin = stop;
    }
  }
  groups_ = std::move(split);
}

/// The first group that lies at or after a row.
std::int32_t Stages::group_at(std::int32_t row) const {
  auto at = std::lower_bound(groups_.begin(), groups_.end(), row,
                             [&](const Rows& group, std::int32_t r) { return rows_[group.front()] < r; });
  return static_cast<std::int32_t>(at - groups_.begin());
}

void Stages::place_spans() {
  const auto& options = model_.variables[now_].options;
  double least = dual_.least(now_);
  for (std::size_t o = 0; o < options.size(); ++o) {
    std::vector<GroupSpan> spans;
    for (const Span& span : options[o].spans) {
      GroupSpan placed{group_at(span.first), group_at(span.last + 1), span.bytes};
      if (placed.first < placed.end) spans.push_back(placed);
    }
    stage_.spans.push_back(std::move(spans));
    stage_.excess.push_back(dual_.cost(now_, o) - least);
  }
}

Touched Stages::touch(std::int32_t j) const {
  const SharedObject& object = model_.objects[j];
  auto now = static_cast<std::int32_t>(now_);
  Touched touched{j, object_place_[j], -1, 0, object.bytes, object.time, {}, {}};
  touched.group_end.push_back(group_at(object.birth));
  for (std::int32_t row : object.rows) {
    touched.group_end.push_back(std::max(touched.group_end[0], group_at(row + 1)));
  }
  for (const ModelUse& use : object.uses) {
    if (use.variable > now) touched.highest_ahead = std::max(touched.highest_ahead, use.level);
    if (use.variable != now) continue;
    touched.uses.push_back({use.options, use.level, -1, use.class_option});
    if (use.class_variable >= 0) touched.uses.back().class_place = class_place_[use.class_variable];
  }
  return touched;
}

void Stages::touch_factor(std::int32_t index) {
  const Factors& factors = dual_.factors();
  const Factor& factor = factors[index];
  auto now = static_cast<std::int32_t>(now_);
  if (!has_potential_[index]) potentials_[index] = Potential(dual_, factor);
  has_potential_[index] = true;
  TouchedFactor touched;
  touched.potential = &potentials_[index];
  for (int m = 0; m < factor.members; ++m) {
    std::int32_t object = factors.member(factor, m);
    MemberPlace place{touched.potential->stride(m), -1, object_place_[object]};
    for (std::size_t i = 0; i < stage_.touched.size(); ++i) {
      if (stage_.touched[i].object == object) place.touched = static_cast<std::int32_t>(i);
    }
    touched.members.push_back(place);
  }
  for (int s = 0; s < factor.slots; ++s) {
    const Slot& slot = factors.slot(factor, s);
    if (s < factor.segments()) {
      if (slot.variable < now) ++touched.decided_before;
      if (slot.variable <= now) ++touched.decided_after;
    } else {
      bool here = slot.variable == now;
      touched.class_places.push_back(here ? -2 : slot.variable > now ? -1 : class_place_[slot.variable]);
    }
    if (slot.variable != now) continue;
    for (std::size_t o = 0; o < stage_.excess.size(); ++o)
      stage_.excess[o] -= dual_.share(slot, factors.label(slot, o));
  }
  stage_.factors.push_back(std::move(touched));
}

void Stages::place_objects() {
  std::vector<std::int32_t> factors;
  for (std::int32_t j : model_.variables[now_].objects) {
    stage_.touched.push_back(touch(j));
    std::int32_t factor = dual_.factors().factor_of(j);
    if (std::find(factors.begin(), factors.end(), factor) == factors.end()) factors.push_back(factor);
  }
  for (std::int32_t factor : factors) touch_factor(factor);
}

/// The new key: what was open and stays so, then what this variable opens.
void Stages::arrange_key() {
  auto now = static_cast<std::int32_t>(now_);
  std::vector<std::int32_t> open;
  auto stays = [&](std::int32_t entry) {
    return entry >= 0 ? last_of_object_[entry] > now : last_of_class_[-1 - entry] > now;
  };
  auto here = [&](std::int32_t entry) {
    const auto& objects = model_.variables[now_].objects;
    return entry >= 0 && std::binary_search(objects.begin(), objects.end(), entry);
  };
  std::vector<std::int32_t> gone;
  for (std::size_t place = 0; place < open_.size(); ++place) {
    std::int32_t entry = open_[place];
    if (!stays(entry)) {
      gone.push_back(entry);
      continue;
    }
    if (!here(entry))
      stage_.moved.emplace_back(static_cast<std::int32_t>(place), static_cast<std::int32_t>(open.size()));
    open.push_back(entry);
  }
  for (std::int32_t j : model_.variables[now_].objects) {
    if (object_place_[j] < 0 && stays(j)) open.push_back(j);
  }
  if (model_.variables[now_].is_class && last_of_class_[now_] > now) {
    stage_.class_place = static_cast<std::int32_t>(open.size());
    open.push_back(-1 - now);
  }
  for (std::int32_t entry : gone) (entry >= 0 ? object_place_[entry] : class_place_[-1 - entry]) = -1;
  for (std::size_t place = 0; place < open.size(); ++place) {
    std::int32_t entry = open[place];
    (entry >= 0 ? object_place_[entry] : class_place_[-1 - entry]) = static_cast<std::int32_t>(place);
  }
  for (Touched& touched : stage_.touched) touched.new_place = object_place_[touched.object];
  open_ = std::move(open);
  stage_.key_size = open_.size();
}

/// Rows that no later variable reaches are checked here for the last time.
void Stages::drop_closed() {
  auto now = static_cast<std::int32_t>(now_);
  for (const Touched& touched : stage_.touched) {
    if (last_of_object_[touched.object] != now) continue;
    const SharedObject& object = model_.objects[touched.object];
    for (std::size_t e = 0; e < rows_.size(); ++e) {
      if (rows_[e] >= object.birth && rows_[e] <= object.rows.back()) most_ahead_[e] -= object.bytes;
    }
  }
  std::vector<Rows> left;
  for (Rows& group : groups_) {
    std::erase_if(group, [&](std::int32_t e) { return last_stage_[e] <= now; });
    stage_.new_group.push_back(group.empty() ? -1 : static_cast<std::int32_t>(left.size()));
    if (group.empty()) continue;
    std::int64_t harmless = INT64_MAX;
    for (std::int32_t e : group) {
      harmless = std::min(harmless, model_.budget - model_.base[rows_[e]] - most_ahead_[e]);
    }
    stage_.harmless.push_back(harmless);
    left.push_back(std::move(group));
  }
  groups_ = std::move(left);
  stage_.new_groups = groups_.size();
}

}  // namespace reprise::solver
