// The targets under libFuzzer, one a process: REPRISE_FUZZ_TARGET names it. Built by clang with
// REPRISE_SANITIZE=fuzzer, run by tools/fuzz.
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const reprise::fuzz::Target* target = [] {
    const char* name = std::getenv("REPRISE_FUZZ_TARGET");
    const auto* found = reprise::fuzz::find_target(name ? name : "");
    if (found == nullptr) {
      std::fprintf(stderr, "set REPRISE_FUZZ_TARGET to one of:");
      for (const auto& each : reprise::fuzz::targets()) std::fprintf(stderr, " %s", each.name);
      std::fprintf(stderr, "\n");
      std::exit(2);
    }
    return found;
  }();
  try {
    target->run({data, size});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", target->name, error.what());
    std::abort();
  }
  return 0;
}
