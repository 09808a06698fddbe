#include "core/parallel.h"

#include <algorithm>
#include <thread>

#include "core/error.h"
#include "core/thread_pool.h"

#if defined(REPRISE_WITH_OPENMP)
#include <omp.h>
#endif

namespace reprise {
namespace {

// Set while this thread runs blocks, so that a nested loop stays on it.
thread_local bool running_blocks = false;

#if defined(REPRISE_WITH_OPENMP)

int default_thread_count() { return std::max(1, omp_get_max_threads()); }

// Libraries that use OpenMP on their own (oneDNN) follow this number too.
void share_thread_count(int count) { omp_set_num_threads(count); }

void run_team(int members, void* context, internal::ThreadPool::Share share) {
#pragma omp parallel num_threads(members)
  share(context, omp_get_thread_num(), omp_get_num_threads());
}

#else

int default_thread_count() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

void share_thread_count(int) {}

void run_team(int members, void* context, internal::ThreadPool::Share share) {
  static internal::ThreadPool pool;
  pool.run(members, context, share);
}

#endif

int& configured_count() {
  static int count = default_thread_count();
  return count;
}

struct Blocks {
  std::int64_t n;
  std::int64_t grain;
  std::int64_t count;
  void* context;
  internal::RangeBody body;

  void run(std::int64_t first, std::int64_t last) const {
    for (std::int64_t block = first; block < last; ++block) {
      body(context, block * grain, std::min(n, (block + 1) * grain));
    }
  }
};

// Member m of a team takes the consecutive blocks [m, m + 1) * count / members.
void run_share(void* context, int member, int members) {
  const Blocks& blocks = *static_cast<const Blocks*>(context);
  running_blocks = true;
  blocks.run(blocks.count * member / members, blocks.count * (member + 1) / members);
  running_blocks = false;
}

}  // namespace

void set_thread_count(int count) {
  if (count < 1) fail(ErrorKind::user, "[threads] expected at least 1 thread, got {}", count);
  configured_count() = count;
  share_thread_count(count);
}

int thread_count() { return configured_count(); }

void internal::run_blocks(std::int64_t n, std::int64_t grain, void* context, RangeBody body) {
  REPRISE_INVARIANT(grain > 0);
  Blocks blocks{n, grain, (n + grain - 1) / grain, context, body};
  int members = static_cast<int>(std::min<std::int64_t>(thread_count(), blocks.count));
  if (members <= 1 || running_blocks) {
    blocks.run(0, blocks.count);
  } else {
    run_team(members, &blocks, run_share);
  }
}

}  // namespace reprise
