#include "models/train/run_state.h"

#include "core/error.h"

namespace reprise {

void PeakMemory::include(Memory& memory) {
  const MeterSnapshot& now = memory.meter().snapshot();
  if (now.total_peak > bytes) {
    bytes = now.total_peak;
    by_category = now.at_peak;
  }
  if (memory.arena()) arena_bytes = std::max(arena_bytes, memory.arena()->extent_bytes());
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
  state["interval"] = {{"loss", interval.loss},
                       {"steps", interval.steps},
                       {"images", interval.images},
                       {"hits", interval.hits},
                       {"seconds", interval.seconds}};
  state["train"] = {{"images", images}, {"seconds", seconds}, {"loss", last_loss}};
  state["peak"] = {
      {"bytes", peak.bytes}, {"by_category", categories_json(peak.by_category)}, {"arena_bytes", peak.arena_bytes}};
  return state;
}

RunState RunState::from_json(const Json& state, const std::vector<Stream*>& streams, const std::string& where) {
  RunState run;
  try {
    run.step = state.at("step").get<std::int64_t>();
    run.position = {state.at("loader").at("epoch").get<std::int64_t>(),
                    state.at("loader").at("step").get<std::int64_t>()};
    for (Stream* stream : streams) {
      const Json& saved = state.at("streams").at(stream->name);
      if (saved.at("seed") != stream->seed || saved.at("id") != stream->id) {
        fail(ErrorKind::user, "[checkpoint] expected the stream {} with seed {}, {} has another", stream->name,
             stream->seed, where);
      }
      stream->position = saved.at("position").get<std::uint64_t>();
    }
    const Json& interval = state.at("interval");
    run.interval = {interval.at("loss").get<double>(), interval.at("steps").get<std::int64_t>(),
                    interval.at("images").get<std::int64_t>(), interval.at("hits").get<std::int64_t>(),
                    interval.at("seconds").get<double>()};
    const Json& train = state.at("train");
    run.images = train.at("images").get<std::int64_t>();
    run.seconds = train.at("seconds").get<double>();
    run.last_loss = train.at("loss").get<double>();
    const Json& peak = state.at("peak");
    run.peak.bytes = peak.at("bytes").get<std::int64_t>();
    run.peak.arena_bytes = peak.at("arena_bytes").get<std::int64_t>();
    for (int c = 0; c < kCategoryCount; ++c) {
      run.peak.by_category[static_cast<std::size_t>(c)] =
          peak.at("by_category").at(to_string(static_cast<Category>(c))).get<std::int64_t>();
    }
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorKind::user, "[checkpoint] expected the state of a run, {} is not whole: {}", where, error.what());
  }
  return run;
}

}  // namespace reprise
