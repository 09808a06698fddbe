// A small pool of kept worker threads with a static share of work for each; what parallel_blocks runs on where OpenMP
// is off. The thread sanitizer sees every hand-over in it: a mutex and two condition variables, no atomics of its own.
//
// Called by core/parallel.cpp only. The caller works too, as member 0, and returns when all shares are done.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace reprise::internal {

class ThreadPool {
 public:
  /// Does the share of one member of a team; must not throw.
  using Share = void (*)(void* context, int member, int members);

  ThreadPool() = default;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  /// Calls share(context, member, members) once for each member in [0, members), members >= 1. Workers are started as
  /// needed. While another thread has the pool at work, all shares run on the calling thread instead. A share that
  /// runs on the caller of a round must not call run() itself.
  void run(int members, void* context, Share share);

 private:
  void start_workers(int count);
  void work(int member);

  std::mutex team_;  // held by the thread whose shares are being run
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::vector<std::thread> workers_;
  // Guarded by mutex_:
  std::uint64_t round_ = 0;
  int members_ = 0;
  int unfinished_ = 0;
  bool stop_ = false;
  void* context_ = nullptr;
  Share share_ = nullptr;
};

}  // namespace reprise::internal
