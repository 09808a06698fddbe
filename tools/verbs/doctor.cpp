// `reprise doctor`: what this program and this machine are, to paste into a report.
#include <cstdio>
#include <memory>

#include "core/text.h"
#include "models/run/json_text.h"
#include "tools/cli/verb.h"
#include "tools/doctor/doctor.h"

namespace reprise {
namespace {

constexpr const char* kDoctorHelp =
    R"(Prints what a report of a problem needs: versions and flags of the build, processor, threads, memory, huge pages, which
kernel runs the convolutions of the presets, CUDA toolkit, driver and devices; then notes on what may be amiss. It names no
person, no machine and none of your files.

Examples:
  reprise doctor
  reprise doctor --json > doctor.json)";

int run(bool json) {
  std::vector<doctor::Section> sections = {doctor::program(), doctor::processor(), doctor::memory(),
                                           doctor::convolutions(), doctor::cuda()};
  std::vector<std::string> notes = doctor::notes();
  if (json) {
    Json all = Json::object();
    for (const doctor::Section& section : sections) {
      for (const auto& [name, text] : section.facts) all[section.title][name] = text;
    }
    all["notes"] = notes;
    std::fputs(json_pretty(all).c_str(), stdout);
    return 0;
  }
  for (const doctor::Section& section : sections) {
    std::vector<std::vector<std::string>> rows;
    for (const auto& [name, text] : section.facts) rows.push_back({"  " + name, text});
    std::printf("%s\n%s\n", section.title.c_str(), format_table(rows).c_str());
  }
  std::printf("notes\n");
  for (const std::string& note : notes) std::printf("  %s\n", note.c_str());
  if (notes.empty()) std::printf("  nothing amiss was found\n");
  return 0;
}

}  // namespace

Verb doctor_verb() {
  return {"doctor", "what this program and this machine are, for a report", kDoctorHelp,
          [](Command& app) -> VerbAction {
            auto json = std::make_shared<bool>(false);
            app.add_flag("--json", *json, "as JSON");
            return [json] { return run(*json); };
          }};
}

}  // namespace reprise
