#include "recompute/planning/planned_methods.h"

#include <algorithm>

#include "core/error.h"
#include "recompute/methods.h"

namespace reprise {

std::span<const PlannedMethod> planned_methods() {
  static const PlannedMethod kMethods[] = {
      {"retain", {true, false, false}},       {"whole", {false, true, false}},
      {"region", {false, false, true}},       {"retain+whole", {true, true, false}},
      {"retain+region", {true, false, true}}, {"whole+region", {false, true, true}},
      {"joint", {true, true, true}},
  };
  return kMethods;
}

bool PlannedMethod::contains(const PlannedMethod& narrow) const {
  bool whole = narrow.allowed.whole || !narrow.allowed.region;  // what `retain` alone owes is preserved whole
  return name != narrow.name && (allowed.retain || !narrow.allowed.retain) && (allowed.whole || !whole) &&
         (allowed.region || !narrow.allowed.region);
}

const PlannedMethod& planned_method(const std::string& name) {
  std::string known;
  for (const PlannedMethod& method : planned_methods()) {
    if (method.name == name) return method;
    known += (known.empty() ? "" : ", ") + method.name;
  }
  fail(ErrorKind::user, "[plan] expected a method among {}; got '{}'", known, name);
}

std::optional<solver::Allowed> allowed_by(const std::string& method) {
  for (const PlannedMethod& known : planned_methods()) {
    if (method == known.name) return known.allowed;
  }
  return std::nullopt;
}

const std::vector<std::string>& plannable_methods() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const PlannedMethod& method : planned_methods()) all.push_back(method.name);
    return all;
  }();
  return names;
}

const std::vector<std::string>& all_methods() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = plannable_methods();
    all.emplace_back(to_string(Method::unchecked));
    return all;
  }();
  return names;
}

bool is_planned(const std::string& method) {
  auto known = std::find(plannable_methods().begin(), plannable_methods().end(), method);
  return known != plannable_methods().end() && !planned_method(method).is_one_plan();
}

}  // namespace reprise
