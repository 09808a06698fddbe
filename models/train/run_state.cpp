#include "models/train/run_state.h"

#include <limits>

#include "recompute/json_place.h"

namespace reprise {

void PeakMemory::include(Memory& memory) {
  const MeterSnapshot& now = memory.meter().snapshot();
  if (now.total_peak > bytes) {
    bytes = now.total_peak;
    by_category = now.at_peak;
  }
  if (memory.arena()) arena_bytes = std::max(arena_bytes, memory.arena()->extent_bytes());
}

void require_same_seed(const Json& state, const Config& config) {
  if (!state.contains("seed") || state["seed"] == config.get_int("seed")) return;
  throw config.error_at("seed", "expected {}, with which the run began. Begin another run for another seed",
                        shown_part(json_line(state["seed"])));
}

Json categories_json(const CategoryBytes& bytes) {
  Json all = Json::object();
  for (int c = 0; c < kCategoryCount; ++c)
    all[to_string(static_cast<Category>(c))] = bytes[static_cast<std::size_t>(c)];
  return all;
}

Json RunState::to_json(const std::vector<Stream*>& streams) const {
  Json state;
  state["epoch"] = position.epoch;
  state["loader"] = {{"epoch", position.epoch}, {"step", position.step}};
  state["streams"] = Json::object();
  for (const Stream* stream : streams) {
    state["streams"][stream->name] = {{"seed", stream->seed}, {"id", stream->id}, {"position", stream->position}};
  }
  state["interval"] = {{"loss", interval.loss}, {"steps", interval.steps},     {"images", interval.images},
                       {"hits", interval.hits}, {"seconds", interval.seconds}, {"labels", interval.labels}};
  state["train"] = {{"images", images}, {"seconds", seconds}, {"loss", last_loss}};
  state["peak"] = {
      {"bytes", peak.bytes}, {"by_category", categories_json(peak.by_category)}, {"arena_bytes", peak.arena_bytes}};
  return state;
}

RunState RunState::from_json(const Json& state, const std::vector<Stream*>& streams, const std::string& where) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  constexpr double kLargest = std::numeric_limits<double>::max();
  auto count = [](const JsonPlace& place) { return place.integer(0, kMost); };
  auto real = [](const JsonPlace& place) { return place.real(-kLargest, kLargest); };
  JsonPlace root(state, "checkpoint", where);
  if (!root.is_object()) root.refuse("expected the state of a run, got something else");
  RunState run;
  run.step = count(root.at("step"));
  JsonPlace loader = root.object_at("loader"), interval = root.object_at("interval"), done = root.object_at("train"),
            peak = root.object_at("peak");
  run.position = {count(loader.at("epoch")), count(loader.at("step"))};
  run.interval = {real(interval.at("loss")),    count(interval.at("steps")),
                  count(interval.at("images")), count(interval.at("hits")),
                  real(interval.at("seconds")), interval.has("labels") && interval.at("labels").flag()};
  run.images = count(done.at("images"));
  run.seconds = real(done.at("seconds"));
  run.last_loss = real(done.at("loss"));
  run.peak.bytes = count(peak.at("bytes"));
  run.peak.arena_bytes = count(peak.at("arena_bytes"));
  JsonPlace categories = peak.object_at("by_category");
  for (int c = 0; c < kCategoryCount; ++c) {
    run.peak.by_category[static_cast<std::size_t>(c)] = count(categories.at(to_string(static_cast<Category>(c))));
  }
  for (Stream* stream : streams) {
    JsonPlace saved = root.object_at("streams").object_at(stream->name.c_str());
    if (saved.at("seed").natural() != stream->seed || saved.at("id").natural() != stream->id) {
      saved.refuse("expected the stream with seed {} and id {}, got another", stream->seed, stream->id);
    }
    stream->position = saved.at("position").natural();
  }
  return run;
}

}  // namespace reprise
