#include "models/run/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/error.h"
#include "core/interrupt.h"
#include "data/atomic_file.h"
#include "data/folder.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockName = ".lock";
constexpr int kHeld = -2;

/// Takes the lock of a folder: its descriptor, or kHeld. The file stays for good, since removing it would let two
/// processes hold two files of one name.
int try_lock(const fs::path& folder) {
  fs::path path = folder / kLockName;
  int lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (lock < 0) fail_errno("run folder", "open", path.native(), errno);
  if (::flock(lock, LOCK_EX | LOCK_NB) == 0) {
    std::string pid = std::to_string(::getpid()) + "\n";
    bool written =
        ::ftruncate(lock, 0) == 0 && ::pwrite(lock, pid.data(), pid.size(), 0) == static_cast<ssize_t>(pid.size());
    if (written) return lock;
  }
  int error = errno;
  ::close(lock);
  if (error == EWOULDBLOCK) return kHeld;
  fail_errno("run folder", "lock", path.native(), error);
}

int lock_within(const fs::path& folder, double seconds) {
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (true) {
    int lock = try_lock(folder);
    if (lock != kHeld || std::chrono::steady_clock::now() >= end) return lock;
    if (stop_requested()) throw Interrupted{"waiting for the run folder"};
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

[[noreturn]] void fail_held(const fs::path& folder) {
  char pid[32] = {};
  int lock = ::open((folder / kLockName).c_str(), O_RDONLY | O_CLOEXEC);
  if (lock >= 0) {
    [[maybe_unused]] ssize_t got = ::read(lock, pid, sizeof pid - 1);
    ::close(lock);
  }
  pid[std::strcspn(pid, "\n")] = '\0';
  fail(ErrorKind::user,
       "[run folder] {} is in use by process {}. Wait for it, or choose another folder with run.dir=FOLDER",
       folder.string(), pid[0] != '\0' ? pid : "(unknown)");
}

/// What stands in the folder a run would like to have.
enum class Content {
  nothing,  // or what a process leaves that is killed before config.yaml is there
  start,    // a run without a checkpoint and without a line of metrics: nothing in it can be lost
  other,
};

/// What write_file_atomically() leaves of a run's files when the process is killed.
bool is_partial(const std::string& name) {
  constexpr std::array kOurs = {"checkpoint", "state",        "config.yaml", kPlanFile,
                                kProfileFile, "summary.json", "trace.json"};
  return name.ends_with(".partial") &&
         std::any_of(kOurs.begin(), kOurs.end(), [&](const char* start) { return name.starts_with(start); });
}

/// Files that are made again at every start.
bool is_made_at_start(const std::string& name) { return name == kPlanFile || name == kProfileFile; }

void remove_files(const fs::path& folder, bool (*which)(const std::string&)) {
  std::error_code error;
  for (const fs::path& path : paths_in(folder, error)) {
    if (which(path.filename().string())) fs::remove(path, error);
  }
}

Content look_into(const fs::path& folder) {
  bool config = false, metrics = false, planned = false;
  std::error_code ignored;
  for (const fs::path& path : paths_in(folder, "run folder")) {
    std::string name = path.filename().string();
    if (name == kLockName || is_partial(name)) continue;
    if (name == "config.yaml") {
      config = true;
    } else if (name == "metrics.jsonl" && fs::is_regular_file(path, ignored) && fs::file_size(path, ignored) == 0) {
      metrics = true;
    } else if (is_made_at_start(name)) {
      planned = true;
    } else {
      return Content::other;
    }
  }
  if (!config) return planned ? Content::other : Content::nothing;
  // A run opens its metrics first, so a lone config.yaml is somebody's own.
  return metrics ? Content::start : Content::other;
}

void refuse_foreign(const Config& config, const fs::path& path) {
  std::error_code error;
  if (look_into(path) != Content::other || fs::is_regular_file(path / "config.yaml", error)) return;
  throw config.error_at("run.dir", "{} has other files in it and is not the folder of a run. choose another folder",
                        path.string());
}

/// A lock that is given back unless it is taken over.
class HeldLock {
 public:
  explicit HeldLock(int lock) : lock_(lock) {}
  HeldLock(const HeldLock&) = delete;
  ~HeldLock() {
    if (lock_ >= 0) ::close(lock_);
  }
  int release() { return std::exchange(lock_, -1); }

 private:
  int lock_;
};

/// The first free one of runs/NAME, runs/NAME-2 and so on, locked.
std::pair<fs::path, int> take_default_folder(const std::string& name) {
  for (int number = 1; number <= 10000; ++number) {
    fs::path path = fs::path("runs") / (number == 1 ? name : name + "-" + std::to_string(number));
    std::error_code error;
    if (fs::exists(path, error) && (!fs::is_directory(path, error) || look_into(path) != Content::nothing)) continue;
    make_output_folder(path, "run folder");
    int lock = try_lock(path);
    if (lock == kHeld) continue;
    HeldLock held(lock);
    if (look_into(path) == Content::nothing) return {path, held.release()};
  }
  fail(ErrorKind::user, "[run folder] runs/{} and 9,999 folders after it are taken. Choose one with run.dir=FOLDER",
       name);
}

}  // namespace

RunFolder::RunFolder(fs::path path, int lock) try
    : path_(std::move(path)), lock_(lock), metrics_(path_ / "metrics.jsonl") {
} catch (...) {
  ::close(lock);
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::exchange(other.lock_, -1)),
      metrics_(std::move(other.metrics_)),
      began_before_(other.began_before_) {}

RunFolder::~RunFolder() {
  if (lock_ >= 0) ::close(lock_);
}

RunFolder RunFolder::create(Config& config) {
  fs::path path = config.get_string("run.dir");
  int lock = -1;
  bool began_before = false;
  if (path.empty()) {
    std::tie(path, lock) = take_default_folder(config.name());
  } else {
    make_output_folder(path, "run folder");
    refuse_foreign(config, path);  // before a lock is left there
    lock = lock_within(path, config.get_seconds("run.lock_wait"));
    if (lock == kHeld) fail_held(path);
    HeldLock held(lock);
    refuse_foreign(config, path);
    Content content = look_into(path);
    if (content == Content::other) {
      throw config.error_at(
          "run.dir",
          "the folder is not empty. Go on with that run by `reprise train --resume {}`, or choose another folder",
          path.string());
    }
    began_before = content == Content::start;
    remove_files(path, is_partial);
    if (began_before) remove_files(path, is_made_at_start);
    lock = held.release();
  }
  RunFolder folder(path, lock);
  folder.began_before_ = began_before;
  folder.write_config(config);
  return folder;
}

RunFolder RunFolder::resume(const fs::path& path, double lock_wait) {
  std::error_code error;
  if (!fs::is_regular_file(path / "config.yaml", error)) {
    fail(ErrorKind::user, "[run folder] expected the folder of a run, {} has no config.yaml", path.string());
  }
  int lock = lock_within(path, lock_wait);
  if (lock == kHeld) fail_held(path);
  HeldLock held(lock);
  remove_files(path, is_partial);
  return RunFolder(path, held.release());
}

Config RunFolder::read_config(const fs::path& path, const std::vector<OverrideText>& overrides) {
  std::error_code error;
  if (!fs::is_regular_file(path / "config.yaml", error)) {
    fail(ErrorKind::user, "[run folder] expected the folder of a run, {} has no config.yaml", path.string());
  }
  return load_numbered_config((path / "config.yaml").string(), overrides);
}

void RunFolder::write_config(Config& config) {
  if (config.get_string("run.dir") != path_.string()) config.set("run.dir", path_.string(), "run folder");
  write_text("config.yaml", config.to_yaml());
}

void RunFolder::write_summary(const Json& summary) { write_text("summary.json", json_pretty(summary)); }

void RunFolder::write_text(const std::string& name, std::string_view text) {
  write_file_atomically(path_ / name, text);
}

std::vector<std::string> names_of_runs(const std::vector<std::string>& folders) {
  auto plain = [](const fs::path& folder) {
    fs::path path = folder.lexically_normal();
    return path.has_filename() ? path : path.parent_path();  // without a slash at its end
  };
  std::vector<std::string> last, whole;
  std::error_code error;
  for (const std::string& folder : folders) {
    last.push_back(plain(fs::absolute(folder, error)).filename().string());  // "." has a name too
    whole.push_back(plain(folder).string());
  }
  std::vector<std::string> sorted = last;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() ? last : whole;
}

}  // namespace reprise
