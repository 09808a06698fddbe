#include "core/thread_pool.h"

namespace reprise::internal {

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::start_workers(int count) {
  while (static_cast<int>(workers_.size()) < count) {
    int member = static_cast<int>(workers_.size()) + 1;
    workers_.emplace_back([this, member] { work(member); });
  }
}

void ThreadPool::run(int members, void* context, Share share) {
  std::unique_lock team(team_, std::try_to_lock);
  if (members <= 1 || !team.owns_lock()) {
    for (int member = 0; member < members; ++member) share(context, member, members);
    return;
  }
  start_workers(members - 1);
  {
    std::lock_guard lock(mutex_);
    ++round_;
    members_ = members;
    unfinished_ = members - 1;
    context_ = context;
    share_ = share;
  }
  wake_.notify_all();
  share(context, 0, members);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return unfinished_ == 0; });
}

void ThreadPool::work(int member) {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    // A worker beyond the present team sleeps through the round; one started late finds its round already announced.
    wake_.wait(lock, [&] { return stop_ || (round_ != seen && member < members_); });
    if (stop_) return;
    seen = round_;
    void* context = context_;
    Share share = share_;
    int members = members_;
    lock.unlock();
    share(context, member, members);
    lock.lock();
    if (--unfinished_ == 0) done_.notify_one();
  }
}

}  // namespace reprise::internal
