#include "recompute/planning/profile.h"

#include <algorithm>

#include "recompute/json_place.h"

namespace reprise {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "reprise-profile/2";

Json move_json(const MoveCost& cost) {
  return {{"fixed_ns", cost.fixed_ns}, {"ns_per_byte", cost.ns_per_byte}, {"ns_per_run", cost.ns_per_run}};
}

// ---- reading. The limits keep sums over a step far from overflow.

constexpr std::int64_t kMostNodeNs = 1'000'000'000'000;  // a quarter of an hour
constexpr std::int64_t kMostStepNs = std::int64_t{1} << 60;
constexpr std::size_t kMostNodes = 1 << 20;

MoveCost read_move(const JsonPlace& p) {
  p.object({"fixed_ns", "ns_per_byte", "ns_per_run"});
  return {p.at("fixed_ns").real(0, 1e12), p.at("ns_per_byte").real(0, 1e6), p.at("ns_per_run").real(0, 1e9)};
}

std::vector<std::int64_t> read_times(const JsonPlace& p, std::int64_t least) {
  return p.list([&](const JsonPlace& time) { return time.integer(least, kMostNodeNs); }, kMostNodes);
}

}  // namespace

std::int64_t Profile::base_ns() const { return std::max<std::int64_t>(0, step_ns - moved_ns - replayed_ns); }

std::string to_json(const Profile& profile) {
  Json json{{"format", kFormat},
            {"machine", profile.machine},
            {"isa", profile.isa},
            {"build", profile.build},
            {"threads", profile.threads},
            {"trace", profile.trace},
            {"optimiser", profile.optimiser},
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
  Json json = parse_document(text, "profile", origin, kFormat, "reprise plan --profile-out");
  JsonPlace p(json, "profile", origin);
  p.object({"format", "machine", "isa", "build", "threads", "trace", "optimiser", "micro_batches", "step_ns", "spread",
            "rest_ns", "replayed_ns", "moved_ns", "copy", "gather", "exchange", "forward_ns", "replay_ns",
            "backward_ns"});
  Profile profile;
  profile.machine = p.at("machine").text();
  profile.isa = p.at("isa").text();
  profile.build = p.at("build").text();
  profile.threads = static_cast<int>(p.at("threads").integer(0, 1 << 20));
  profile.trace = p.at("trace").text();
  profile.optimiser = p.at("optimiser").text();
  profile.micro_batches = p.at("micro_batches").integer(1, 1 << 20);
  profile.step_ns = p.at("step_ns").integer(0, kMostStepNs);
  profile.spread = p.at("spread").real(0, 1e18);
  profile.rest_ns = p.at("rest_ns").integer(0, kMostStepNs);
  profile.replayed_ns = p.at("replayed_ns").integer(0, kMostStepNs);
  profile.moved_ns = p.at("moved_ns").integer(0, kMostStepNs);
  profile.copy = read_move(p.at("copy"));
  profile.gather = read_move(p.at("gather"));
  profile.exchange = read_move(p.at("exchange"));
  profile.forward_ns = read_times(p.at("forward_ns"), -1);
  profile.replay_ns = read_times(p.at("replay_ns"), -1);
  profile.backward_ns = read_times(p.at("backward_ns"), -1);
  return profile;
}

}  // namespace reprise
