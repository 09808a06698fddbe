// Whether all methods computed the same bytes: hashes of gradients, parameters and state of measuring processes.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "tools/report/sections.h"
#include "tools/report/wording.h"

namespace reprise::report {
namespace {

constexpr const char* kParts[] = {"gradients", "parameters", "state"};

/// Processes that must agree, and the hashes that were seen.
struct Group {
  std::int64_t processes = 0;
  std::map<std::string, std::set<std::string>> values;  // by part
  bool equal() const {
    return std::all_of(values.begin(), values.end(), [](const auto& part) { return part.second.size() == 1; });
  }
  std::string different(const char* part) const {
    auto found = values.find(part);
    return count_text(found == values.end() ? 0 : static_cast<std::int64_t>(found->second.size()));
  }
};

/// What a process must agree with: all others of its workload, of its cell of the map, of its layout and seed.
std::string group_of(const study::Record& record) {
  const Json& json = record.json;
  if (record.kind == "process") return "workload " + text_in(json, "workload");
  if (record.kind == "timing") return fmt::format("layout {}, seed {}", text_in(json, "layout"), json["seed"].dump());
  if (record.kind == "map_measured") {
    return fmt::format("map, table ratio {:g}, {:g} % written", number_in(json, "table_ratio"),
                       100 * number_in(json, "written_share"));
  }
  return "";
}

}  // namespace

void add_equal_bytes(Document& document, const Study& study, Findings& findings) {
  std::map<std::string, Group> groups;
  for (const study::Record& record : study.records) {
    std::string name = group_of(record);
    if (name.empty() || !record.ok() || text_in(record.json, "method") == "unchecked") continue;
    Group& group = groups[name];
    ++group.processes;
    for (const char* part : kParts) {
      std::string hash = text_in(record.json["hash"], part);
      group.values[part].insert(hash.empty() ? record.id + " has none" : hash);
    }
  }
  if (groups.empty()) return;
  Table table{"Different bytes after the last step, over all methods and processes",
              {{"of", false}, {"processes"}, {"gradients"}, {"parameters"}, {"state"}, {"", false}},
              {},
              {}};
  std::int64_t processes = 0, unequal = 0;
  for (const auto& [name, group] : groups) {
    if (!group.equal()) table.marked.push_back(table.rows.size());
    unequal += group.equal() ? 0 : 1;
    processes += group.processes;
    table.rows.push_back({name, count_text(group.processes), group.different("gradients"),
                          group.different("parameters"), group.different("state"),
                          group.equal() ? "all equal" : "NOT EQUAL"});
  }
  document.heading(2, "Equal bytes");
  document.table(std::move(table));
  std::string all = counted(processes, "measuring process", "measuring processes");
  findings.push_back(unequal == 0
                         ? "Gradients, parameters and state are byte-equal over all methods in all " + all + "."
                         : "Gradients, parameters or state DIFFER between processes; see the table of equal bytes.");
}

}  // namespace reprise::report
