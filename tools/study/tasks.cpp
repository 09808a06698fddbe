#include "tools/study/tasks.h"

#include <algorithm>

#include "core/philox.h"
#include "data/shuffle.h"
#include "recompute/json_parse.h"

namespace reprise::study {
namespace {

constexpr const char* kFormat = "reprise-study-tasks/1";
constexpr std::uint64_t kBlockStream = 0x626c6f636b;  // "block"

}  // namespace

std::string tasks_to_json(const std::vector<Task>& tasks) {
  Json list = Json::array();
  for (const Task& task : tasks) {
    list.push_back({{"id", task.id},
                    {"kind", task.kind},
                    {"label", task.label},
                    {"order", task.order},
                    {"block", task.block},
                    {"lanes", task.lanes},
                    {"expected_s", task.expected_s},
                    {"infeasible", task.infeasible},
                    {"fields", task.fields},
                    {"work", task.work}});
  }
  std::string text = fmt::format("{{\"format\": \"{}\", \"tasks\": [", kFormat);
  const char* between = "\n";
  for (const Json& task : list) text += between + json_line(task), between = ",\n";
  return text + "\n]}\n";
}

std::vector<Task> tasks_from_json(const std::string& text, const std::string& origin) {
  Json json = parse_json(text, "study", origin, "tasks as JSON");
  if (!json.is_object() || !json.contains("format") || json["format"] != kFormat) {
    fail(ErrorKind::user, "[study] {}: expected tasks of format {}, got something else", origin, kFormat);
  }
  try {
    std::vector<Task> tasks;
    for (const Json& one : json.at("tasks")) {
      tasks.push_back({one.at("id"), one.at("kind"), one.at("label"), one.at("order"), one.at("block"), one.at("lanes"),
                       one.at("expected_s"), one.at("infeasible"), one.at("fields"), one.at("work")});
    }
    return tasks;
  } catch (const Json::exception& error) {
    fail(ErrorKind::user, "[study] {}: expected tasks of format {}: {}", origin, kFormat, error.what());
  }
}

std::string differing_field(const Json& record, const Task& task) {
  Json said = task.fields;
  said["kind"] = task.kind;
  said["order"] = task.order;
  said["block"] = task.block;
  for (const auto& [name, value] : said.items()) {
    Json found = record.value(name, Json());
    if (found != value)
      return fmt::format("'{}' to be {}, as its task has it, got {}", name, value.dump(), found.dump());
  }
  return "";
}

std::vector<std::size_t> random_order(std::size_t count, std::uint64_t seed, std::uint64_t id) {
  std::vector<std::size_t> order(count);
  fill_random_order(seed, id, std::span<std::size_t>(order));
  return order;
}

std::vector<std::pair<std::size_t, std::int64_t>> interleaved_blocks(const std::vector<std::int64_t>& blocks_of_cells,
                                                                     std::uint64_t seed) {
  struct Place {
    double at;
    std::size_t cell;
    std::int64_t block;
  };
  std::vector<Place> places;
  std::uint64_t draw = 0;
  for (std::size_t cell = 0; cell < blocks_of_cells.size(); ++cell) {
    for (std::int64_t block = 0; block < blocks_of_cells[cell]; ++block) {
      double shift = philox_word(seed, kBlockStream, draw++) * 0x1p-32;
      places.push_back(
          {(static_cast<double>(block) + shift) / static_cast<double>(blocks_of_cells[cell]), cell, block});
    }
  }
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.at < b.at; });
  std::vector<std::pair<std::size_t, std::int64_t>> order;
  for (const Place& place : places) order.emplace_back(place.cell, place.block);
  return order;
}

}  // namespace reprise::study
