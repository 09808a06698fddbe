// Stored plans and profiles that somebody changed or made up: each is refused with the place in the document, and none
// costs memory or time that its size does not warrant.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "recompute/planning/plan.h"
#include "recompute/planning/profile.h"
#include "tests/support/errors.h"

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;

Plan small_plan() {
  Plan plan;
  plan.method = "joint";
  plan.granularity = "node";
  plan.made_for = {"t", "c", "b", 2};
  plan.nodes = 10;
  plan.segments = {{.id = "a", .option = "replay, 1 kept", .replay = true, .run = 1, .kept = {{3, 0}}}};
  plan.classes = {{.storage = "queue", .node = 9, .update = 1, .readers = {"a"}}};
  return plan;
}

Profile small_profile() {
  Profile profile;
  profile.machine = "m";
  profile.forward_ns = {5, 7};
  profile.replay_ns = {-1, 6};
  profile.backward_ns = {9, -1};
  profile.copy = {10, 0.5, 0};
  return profile;
}

template <class Read>
std::string refused(const std::string& text, Read&& read) {
  ErrorKind kind = ErrorKind::internal;
  std::string said = testing::error_of([&] { read(text, "mine.json"); }, &kind);
  EXPECT_EQ(exit_code(kind), 2) << said << " of: " << text;
  return said;
}

/// Sets the value at a pointer and expects the refusal to name `place` and hold `part`.
template <class Read>
void expect_refused(const std::string& good, const char* pointer, const Json& value, const std::string& part,
                    Read&& read) {
  Json json = Json::parse(good);
  json[Json::json_pointer(pointer)] = value;
  std::string text = refused(json.dump(), read);
  EXPECT_NE(text.find(part), std::string::npos) << pointer << ": " << text;
  EXPECT_NE(text.find("mine.json"), std::string::npos) << text;
}

TEST(PlanJson, ChangedValuesAreRefusedWithTheirPlace) {
  const std::string good = to_json(small_plan());
  ASSERT_EQ(plan_from_json(good, "x"), small_plan());
  auto expect = [&](const char* pointer, const Json& value, const std::string& part) {
    expect_refused(good, pointer, value, part, plan_from_json);
  };
  expect("/budget", 1.5, "budget: expected a whole number");
  expect("/budget", -1, "budget: expected a whole number from 0");
  expect("/budget", true, "budget: ");
  expect("/budget", UINT64_MAX, "budget: ");
  expect("/predicted_ns", 1e300, "predicted_ns: ");
  expect("/nodes", 100'000'000, "nodes: expected a whole number from 0 to 1048576");  // a list is made of that many
  expect("/made_for/threads", std::int64_t{1} << 40, "made_for.threads: ");
  expect("/proven", 1, "proven: expected true or false");
  expect("/fallback", "half", "fallback: expected one of whole, region, got 'half'");
  expect("/segments/0/kept/0/0", 10, "segments[0].kept[0][0]: expected a node below 10");
  expect("/segments/0/kept/0/1", 64, "segments[0].kept[0][1]: ");
  expect("/segments/0/kept/0", Json::array({1}), "segments[0].kept[0]: expected a node and a result");
  expect("/classes/0/update", -1, "classes[0].update: ");
  expect("/classes/0/more", 1, "classes[0]: unknown key 'more'");
}

TEST(PlanJson, TextThatIsNoDocumentIsRefusedAtOnce) {
  for (const auto& read : {+[](const std::string&t, const std::string&o) { plan_from_json(t, o); },
                           +[](const std::string&t, const std::string&o) { profile_from_json(t, o); }}) {
    EXPECT_NE(refused("{", read).find("expected JSON written by `reprise plan"), std::string::npos);
    EXPECT_NE(refused("[1]", read).find("expected a document of format"), std::string::npos);
    EXPECT_NE(refused(R"({"format": 1})", read).find("format: expected text"), std::string::npos);
    EXPECT_NE(refused(R"({"format": "a", "format": "b"})", read).find("'format' comes twice"), std::string::npos);
    EXPECT_NE(refused(std::string(100'000, '['), read).find("nested deeper"), std::string::npos);
  }
}

TEST(ProfileJson, ChangedValuesAreRefusedWithTheirPlace) {
  const std::string good = to_json(small_profile());
  ASSERT_EQ(profile_from_json(good, "x"), small_profile());
  auto expect = [&](const char* pointer, const Json& value, const std::string& part) {
    expect_refused(good, pointer, value, part, profile_from_json);
  };
  expect("/forward_ns/1", INT64_MAX, "forward_ns[1]: ");  // sums of such times would overflow
  expect("/forward_ns/0", 1.25, "forward_ns[0]: ");
  expect("/micro_batches", 0, "micro_batches: ");
  expect("/copy/fixed_ns", -1.0, "copy.fixed_ns: expected a number from 0");
  expect("/copy/ns_per_byte", "fast", "copy.ns_per_byte: expected a number");
  expect("/spread", nullptr, "spread: ");
}

}  // namespace
}  // namespace reprise
