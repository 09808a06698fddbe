#include "recompute/planning/profile.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace reprise {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "reprise-profile/1";

Json move_json(const MoveCost& cost) {
  return {{"fixed_ns", cost.fixed_ns}, {"ns_per_byte", cost.ns_per_byte}, {"ns_per_run", cost.ns_per_run}};
}

MoveCost read_move(const Json& json) {
  return {json.at("fixed_ns").get<double>(), json.at("ns_per_byte").get<double>(), json.at("ns_per_run").get<double>()};
}

}  // namespace

std::int64_t Profile::base_ns() const {
  return std::max<std::int64_t>(0, step_ns - moved_ns - replayed_ns);
}

std::string to_json(const Profile& profile) {
  Json json{{"format", kFormat},
            {"machine", profile.machine},
            {"isa", profile.isa},
            {"build", profile.build},
            {"threads", profile.threads},
            {"trace", profile.trace},
            {"micro_batches", profile.micro_batches},
            {"step_ns", profile.step_ns},
            {"spread", profile.spread},
            {"rest_ns", profile.rest_ns},
            {"replayed_ns", profile.replayed_ns},
            {"moved_ns", profile.moved_ns},
            {"copy", move_json(profile.copy)},
            {"gather", move_json(profile.gather)},
            {"exchange", move_json(profile.exchange)},
            {"forward_ns", profile.forward_ns},
            {"replay_ns", profile.replay_ns},
            {"backward_ns", profile.backward_ns}};
  return json.dump(1) + "\n";
}

Profile profile_from_json(const std::string& text, const std::string& origin) {
  try {
    Json json = Json::parse(text);
    if (json.value("format", "") != kFormat) {
      fail(ErrorKind::user, "[profile] expected {} to have format '{}', got '{}'", origin, kFormat, json.value("format", ""));
    }
    Profile profile;
    json.at("machine").get_to(profile.machine);
    json.at("isa").get_to(profile.isa);
    json.at("build").get_to(profile.build);
    json.at("threads").get_to(profile.threads);
    json.at("trace").get_to(profile.trace);
    json.at("micro_batches").get_to(profile.micro_batches);
    json.at("step_ns").get_to(profile.step_ns);
    json.at("spread").get_to(profile.spread);
    json.at("rest_ns").get_to(profile.rest_ns);
    json.at("replayed_ns").get_to(profile.replayed_ns);
    json.at("moved_ns").get_to(profile.moved_ns);
    profile.copy = read_move(json.at("copy"));
    profile.gather = read_move(json.at("gather"));
    profile.exchange = read_move(json.at("exchange"));
    json.at("forward_ns").get_to(profile.forward_ns);
    json.at("replay_ns").get_to(profile.replay_ns);
    json.at("backward_ns").get_to(profile.backward_ns);
    return profile;
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorKind::user, "[profile] expected {} to be a profile, got {}", origin, error.what());
  }
}

}  // namespace reprise
