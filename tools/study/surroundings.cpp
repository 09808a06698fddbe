#include "tools/study/surroundings.h"

#include <stdlib.h>
#include <time.h>

#include "core/machine.h"
#include "ops/onednn.h"
#include "recompute/fingerprint.h"
#include "tools/cli/commit.h"
#include "tools/study/record.h"

namespace reprise::study {
namespace {

Json load() {
  double average = 0;
  return ::getloadavg(&average, 1) == 1 ? Json(average) : Json();
}

std::string now() {
  std::time_t seconds = ::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __VERSION__;
#else
  return "gcc " __VERSION__;
#endif
}

}  // namespace

Json versions() {
  return {{"reprise", build_version()},  {"commit", build_commit()},      {"compiler", compiler()},
          {"onednn", onednn::version()}, {"processor", processor_name()}, {"isa", onednn::isa_name()}};
}

std::string differing_versions(const Json& then) {
  std::string text;
  Json here = versions();
  for (auto& [name, value] : here.items()) {
    Json before = then.contains(name) ? then[name] : Json();
    if (before == value) continue;
    text += fmt::format("{}{} was {}, is {}", text.empty() ? "" : "; ", name, before.dump(), value.dump());
  }
  return text;
}

Json circumstances() {
  return {{"started", now()}, {"load", {{"before", load()}, {"after", nullptr}}}, {"versions", versions()}};
}

void end_circumstances(Json& record) { record["load"]["after"] = load(); }

Json begin_record(const Config& study, const std::string& kind, const std::string& id, std::int64_t order,
                  std::int64_t block) {
  Json record;
  record["schema"] = kSchema;
  record["study"] = study.get_string("name");
  record["kind"] = kind;
  record["id"] = id;
  record["status"] = "";
  record["error"] = nullptr;
  record["order"] = order;
  record["block"] = block;
  record["elapsed_s"] = 0;
  record.update(circumstances());
  record["threads"] = study.get_int("threads");
  return record;
}

void end_record(Json& record, const std::string& status, const std::string& error, double elapsed_s) {
  record["status"] = status;
  record["error"] = error.empty() ? Json() : Json(error);
  record["elapsed_s"] = elapsed_s;
  end_circumstances(record);
}

}  // namespace reprise::study
