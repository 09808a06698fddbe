#include "tools/study/fresh_process.h"

#include <poll.h>

#include <cstdio>
#include <cstring>

#include "core/error.h"
#include "tools/process/own_program.h"

namespace reprise::study {
namespace {

constexpr const char* kWho = "study";

std::vector<std::string> own_words(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{process::own_program(kWho)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

}  // namespace

std::string Ended::error() const {
  std::string how =
      signal != 0 ? fmt::format("signal {} ({})", signal, ::strsignal(signal)) : fmt::format("exit code {}", code);
  if (code == 0 && answer.is_null()) how += ", no line of JSON at the end of its output";
  return words.empty() ? how : how + ": " + words;
}

FreshProcess::FreshProcess(const std::vector<std::string>& arguments, const Json& input)
    : child_(own_words(arguments), json_line(input), kWho) {}

void FreshProcess::kill() {
  child_.kill();
  take_answer();
}

bool FreshProcess::poll() {
  if (child_.poll()) take_answer();
  return answered_;
}

void FreshProcess::take_answer() {
  if (answered_) return;
  answered_ = true;
  const process::Ended& ended = child_.ended();
  ended_.code = ended.code;
  ended_.signal = ended.signal;
  ended_.elapsed_s = ended.wall;
  Json answer = process::last_json(ended.output);
  ended_.answer = answer.is_object() ? std::move(answer) : Json();
  ended_.words = process::last_lines(ended.errors, 4);
}

void wait_for_any(const std::vector<const FreshProcess*>& processes) {
  std::vector<pollfd> watched;
  for (const FreshProcess* process : processes) {
    if (process->watch() >= 0) watched.push_back({process->watch(), POLLIN, 0});
  }
  ::poll(watched.data(), watched.size(), watched.size() == processes.size() ? 500 : 50);
}

Json read_work() {
  std::string text;
  char buffer[16384];
  std::size_t got = 0;
  while ((got = std::fread(buffer, 1, sizeof buffer, stdin)) > 0) text.append(buffer, got);
  Json work = Json::parse(text, nullptr, false);
  if (!work.is_object())
    fail(ErrorKind::user, "[study] expected an object of JSON on the standard input, got something else");
  return work;
}

void print_answer(const Json& answer) {
  std::fflush(stdout);
  fmt::print("\n{}\n", json_line(answer));
}

}  // namespace reprise::study
