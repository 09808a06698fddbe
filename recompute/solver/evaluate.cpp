#include "recompute/solver/evaluate.h"

#include <algorithm>

#include "core/error.h"

namespace reprise::solver {
namespace {

bool selected(const Use& use, const Choice& choice) {
  if (((use.options >> choice.options[use.segment]) & 1U) == 0) return false;
  return use.read_class < 0 || choice.states[use.read_class] == use.state;
}

bool selected(const JointTime& joint, const Choice& choice) {
  return ((joint.options >> choice.options[joint.segment]) & 1U) != 0 && choice.states[joint.read_class] == joint.state;
}

/// The last row of a selected use, or -1; `used` says whether there is one.
std::int32_t last_row(const Object& object, const Choice& choice, bool& used) {
  std::int32_t row = -1;
  used = false;
  for (const Use& use : object.uses) {
    if (!selected(use, choice)) continue;
    used = true;
    row = std::max(row, use.row);
  }
  return row;
}

void check_shape(const Instance& instance, const Choice& choice) {
  if (choice.options.size() != instance.segments.size() || choice.states.size() != instance.classes.size()) {
    fail(ErrorKind::user,
         "[planner] expected a choice for {} segments and {} classes, got one for {} and {}. A plan belongs to one "
         "instance.",
         instance.segments.size(), instance.classes.size(), choice.options.size(), choice.states.size());
  }
  for (std::size_t i = 0; i < choice.options.size(); ++i) {
    if (choice.options[i] >= instance.segments[i].options.size()) {
      fail(ErrorKind::user, "[planner] expected an option below {} for segment {}, got {}.",
           instance.segments[i].options.size(), instance.segments[i].name, choice.options[i]);
    }
  }
}

void find_peak(Evaluation& result) {
  for (std::size_t t = 0; t < result.row_bytes.size(); ++t) {
    if (t == 0 || result.row_bytes[t] > result.peak) {
      result.peak = result.row_bytes[t];
      result.binding_row = static_cast<std::int32_t>(t);
    }
  }
}

std::int64_t time_of(const Instance& instance, const Choice& choice) {
  std::int64_t time = instance.base_time_ns;
  for (std::size_t i = 0; i < instance.segments.size(); ++i) {
    time += instance.segments[i].options[choice.options[i]].time_ns;
  }
  for (const JointTime& joint : instance.joint_times) {
    if (selected(joint, choice)) time += joint.time_ns;
  }
  for (const Object& object : instance.objects) {
    bool used = std::any_of(object.uses.begin(), object.uses.end(), [&](const Use& u) { return selected(u, choice); });
    if (used) time += object.time_ns;
  }
  return time;
}

}  // namespace

Evaluation evaluate(const Instance& instance, const Choice& choice) {
  check_shape(instance, choice);
  Evaluation result;
  std::size_t rows = instance.base.size();
  result.time_ns = time_of(instance, choice);
  std::vector<std::int64_t> change(rows + 1, 0);
  for (const Object& object : instance.objects) {
    bool used = false;
    std::int32_t last = last_row(object, choice, used);
    if (!used || last < object.birth) continue;
    change[object.birth] += object.bytes;
    change[last + 1] -= object.bytes;
  }
  for (std::size_t i = 0; i < instance.segments.size(); ++i) {
    for (const RowBytes& own : instance.segments[i].options[choice.options[i]].own) {
      change[own.row] += own.bytes;
      change[own.row + 1] -= own.bytes;
    }
  }
  result.row_bytes.resize(rows);
  std::int64_t running = 0;
  for (std::size_t t = 0; t < rows; ++t) {
    running += change[t];
    result.row_bytes[t] = instance.base[t] + running;
  }
  find_peak(result);
  return result;
}

Evaluation evaluate_naive(const Instance& instance, const Choice& choice) {
  check_shape(instance, choice);
  Evaluation result;
  result.time_ns = time_of(instance, choice);
  result.row_bytes = instance.base;
  for (std::size_t t = 0; t < instance.base.size(); ++t) {
    auto row = static_cast<std::int32_t>(t);
    for (const Object& object : instance.objects) {
      bool alive = row >= object.birth && std::any_of(object.uses.begin(), object.uses.end(), [&](const Use& use) {
                     return use.row >= row && selected(use, choice);
                   });
      if (alive) result.row_bytes[t] += object.bytes;
    }
    for (std::size_t i = 0; i < instance.segments.size(); ++i) {
      for (const RowBytes& own : instance.segments[i].options[choice.options[i]].own) {
        if (own.row == row) result.row_bytes[t] += own.bytes;
      }
    }
  }
  find_peak(result);
  return result;
}

std::vector<Alive> alive_in_row(const Instance& instance, const Choice& choice, std::int32_t row) {
  check_shape(instance, choice);
  std::vector<Alive> alive;
  if (instance.base.at(row) > 0) alive.push_back({"held through the step", instance.base[row]});
  for (const Object& object : instance.objects) {
    bool used = false;
    if (object.birth <= row && last_row(object, choice, used) >= row && object.bytes > 0) {
      alive.push_back({object.name, object.bytes});
    }
  }
  for (std::size_t i = 0; i < instance.segments.size(); ++i) {
    const Option& option = instance.segments[i].options[choice.options[i]];
    for (const RowBytes& own : option.own) {
      if (own.row == row && own.bytes > 0) alive.push_back({instance.segments[i].name + " itself", own.bytes});
    }
  }
  std::stable_sort(alive.begin(), alive.end(), [](const Alive& a, const Alive& b) { return a.bytes > b.bytes; });
  return alive;
}

}  // namespace reprise::solver
