// Every reader of files that anybody may hand over: its corpus, then changed inputs for some seconds. The inputs are a
// function of the seed, so a failure comes again; the input that failed is left in a file, which its message names.
//
// Seconds per reader: REPRISE_FUZZ_SECONDS, else more under a sanitizer, in --full and in --soak. tools/fuzz looks for
// longer, with an engine that follows the branches taken.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/fuzz/mutate.h"
#include "tests/fuzz/target.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REPRISE_FUZZ_SANITIZED 1
#endif
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace reprise::fuzz {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double seconds_wanted() {
  if (const char* given = std::getenv("REPRISE_FUZZ_SECONDS")) return std::atof(given);
  if (std::getenv("REPRISE_SOAK")) return 3600;
  if (std::getenv("REPRISE_FULL")) return 20;
#ifdef REPRISE_FUZZ_SANITIZED
  return 2.5;
#else
  return 0.5;
#endif
}

// The input at hand, for a process that dies of it.
const Bytes* current = nullptr;
char failed_path[256];

void leave_input() {
  if (current == nullptr) return;
  int out = ::open(failed_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (out < 0) return;
  [[maybe_unused]] ssize_t written = ::write(out, current->data(), current->size());
  ::close(out);
}

void on_signal(int number) {
  leave_input();
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void watch_for_death(const std::string& target) {
  std::string path = (fs::temp_directory_path() / ("reprise-fuzz-" + target + ".bin")).string();
  std::snprintf(failed_path, sizeof failed_path, "%s", path.c_str());
#ifdef REPRISE_FUZZ_SANITIZED
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(leave_input);
#else
  for (int number : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS}) ::signal(number, on_signal);
#endif
}

std::vector<std::pair<std::string, Bytes>> read_corpus(const std::string& target) {
  std::vector<std::pair<std::string, Bytes>> corpus;
  for (const auto& entry : fs::directory_iterator(fs::path(REPRISE_SOURCE_DIR) / "tests/fuzz/corpus" / target)) {
    std::ifstream in(entry.path(), std::ios::binary);
    corpus.emplace_back(entry.path().filename().string(), Bytes(std::istreambuf_iterator<char>(in), {}));
  }
  std::sort(corpus.begin(), corpus.end());
  return corpus;
}

/// Whether the target kept its promises, soon. Otherwise the input is left in a file.
::testing::AssertionResult keeps_promises(const Target& target, const Bytes& bytes, const std::string& name) {
  auto start = Clock::now();
  std::string what;
  current = &bytes;
  try {
    target.run(bytes);
    if (seconds_since(start) > 30) what = "it took longer than 30 s";
  } catch (const std::exception& error) {
    what = error.what();
  }
  if (!what.empty()) leave_input();
  current = nullptr;
  if (what.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << target.name << ", " << name << " (left in " << failed_path << "): " << what;
}

std::int64_t most_memory() {
  ::rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

class Fuzz : public ::testing::TestWithParam<Target> {};

TEST_P(Fuzz, ReaderRefusesOrGivesWhatRoundTrips) {
  const Target& target = GetParam();
  watch_for_death(target.name);
  auto corpus = read_corpus(target.name);
  ASSERT_FALSE(corpus.empty());
  std::int64_t before = most_memory();
  std::vector<Bytes> seeds;
  for (const auto& [name, bytes] : corpus) {
    ASSERT_TRUE(keeps_promises(target, bytes, name));
    seeds.push_back(bytes);
  }
  const std::uint64_t seed = 20250601;
  Mutator mutator(seeds, target.words, seed);
  std::int64_t runs = 0;
  for (auto start = Clock::now(); seconds_since(start) < seconds_wanted(); ++runs) {
    Bytes bytes = mutator.next();
    ASSERT_TRUE(keeps_promises(target, bytes, "input " + std::to_string(runs) + " of seed " + std::to_string(seed)));
  }
#ifndef REPRISE_FUZZ_SANITIZED
  EXPECT_LT(most_memory() - before, 512 << 20) << "a small input took much memory";
#endif
  std::cout << target.name << ": " << runs << " inputs\n";
  EXPECT_GT(runs, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Fuzz, ::testing::ValuesIn(targets()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace reprise::fuzz
