#include "tools/study/application_compare.h"

#include <fmt/format.h>

#include <algorithm>

namespace reprise::study {
namespace {

bool differ(const Json& a, const Json& b, const char* name) { return a.value(name, Json()) != b.value(name, Json()); }

}  // namespace

std::string Difference::text() const {
  return epoch > 0 ? fmt::format("{} after epoch {}", what, epoch) : fmt::format("{} at the end", what);
}

std::optional<Difference> first_difference(const Json& a, const Json& b) {
  const Json &of_a = a.at("epochs"), &of_b = b.at("epochs");
  std::size_t both = std::min(of_a.size(), of_b.size());
  for (std::size_t i = 0; i < both; ++i) {
    std::int64_t epoch = of_a[i].at("epoch");
    if (of_b[i].at("epoch") != epoch) return Difference{epoch, "number of epochs"};
    for (const char* name : {"parameters", "state", "predictions"}) {
      if (differ(of_a[i].at("hash"), of_b[i].at("hash"), name)) return Difference{epoch, name};
    }
    if (differ(of_a[i], of_b[i], "loss")) return Difference{epoch, "loss"};
  }
  if (of_a.size() != of_b.size()) return Difference{static_cast<std::int64_t>(both) + 1, "number of epochs"};
  for (const char* name : {"parameters", "state"}) {
    if (differ(a.value("hash", Json::object()), b.value("hash", Json::object()), name)) return Difference{0, name};
  }
  if (differ(a.value("hash", Json::object()), b.value("hash", Json::object()), "predictions"))
    return Difference{0, "test predictions"};
  if (differ(a, b, "probe")) return Difference{0, "probe"};
  return std::nullopt;
}

}  // namespace reprise::study
