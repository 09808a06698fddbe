// A disk that fails on request, for the real program: loaded before the C library (LD_PRELOAD), it counts the
// operations that change anything below a folder and makes one of them fail, or ends the process there as a power cut
// would.
//
//   FAILING_DISK_FOLDER  operations on paths below it count
//   FAILING_DISK_LOG     a file that gets a line "NUMBER OPERATION PATH" for each
//   FAILING_DISK_AT      the number of the operation that fails, from 1
//   FAILING_DISK_HOW     ENOSPC, EIO: it fails so. short: a write takes half. full: a write takes half, the next one
//                        fails with ENOSPC. kill: a write takes half, then SIGKILL; others are not begun
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

template <class F>
F* real(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

struct Settings {
  const char* folder = std::getenv("FAILING_DISK_FOLDER");
  const char* log = std::getenv("FAILING_DISK_LOG");
  const char* how = std::getenv("FAILING_DISK_HOW");
  long at = std::getenv("FAILING_DISK_AT") ? std::atol(std::getenv("FAILING_DISK_AT")) : 0;
  long count = 0;
  bool next_write_fails = false;
};

Settings& settings() {
  static Settings all;
  return all;
}

bool is_how(const char* word) { return settings().how && std::strcmp(settings().how, word) == 0; }

bool counts(const char* path) {
  const char* folder = settings().folder;
  return folder && path && std::strncmp(path, folder, std::strlen(folder)) == 0;
}

bool path_of(int descriptor, char (&path)[4096]) {
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = ::readlink(link, path, sizeof path - 1);
  path[length < 0 ? 0 : length] = '\0';
  return counts(path);
}

void note(const char* operation, const char* path) {
  if (!settings().log) return;
  static auto* do_write = real<ssize_t(int, const void*, size_t)>("write");
  static int out =
      real<int(const char*, int, ...)>("open")(settings().log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  char line[4200];
  int length = std::snprintf(line, sizeof line, "%ld %s %s\n", settings().count, operation, path);
  [[maybe_unused]] ssize_t written = do_write(out, line, static_cast<size_t>(length));
}

/// Counts the operation. Whether it is the one that is to fail.
bool hit(const char* operation, const char* path) {
  Settings& s = settings();
  ++s.count;
  note(operation, path);
  return s.count == s.at;
}

/// What becomes of an operation that is no write and is to fail: true if it fails, with errno set.
bool fails(const char* operation, const char* path) {
  if (!counts(path) || !hit(operation, path)) return false;
  if (is_how("kill")) ::raise(SIGKILL);
  errno = is_how("EIO") ? EIO : ENOSPC;
  return is_how("EIO") || is_how("ENOSPC");
}

bool changes(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT); }

template <class F>
int open_as(const char* name, const char* path, int flags, mode_t mode) {
  if (changes(flags) && fails("open", path)) return -1;
  return real<F>(name)(path, flags, mode);
}

int sync_as(const char* name, int descriptor) {
  char path[4096];
  if (path_of(descriptor, path) && fails("sync", path)) return -1;
  return real<int(int)>(name)(descriptor);
}

int cut_as(const char* name, int descriptor, off_t size) {
  char path[4096];
  if (path_of(descriptor, path) && fails("cut", path)) return -1;
  return real<int(int, off_t)>(name)(descriptor, size);
}

mode_t mode_of(int flags, va_list list) { return flags & O_CREAT ? va_arg(list, mode_t) : 0; }

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = mode_of(flags, list);
  va_end(list);
  return open_as<int(const char*, int, ...)>("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = mode_of(flags, list);
  va_end(list);
  return open_as<int(const char*, int, ...)>("open64", path, flags, mode);
}

ssize_t write(int descriptor, const void* data, size_t bytes) {
  static auto* do_write = real<ssize_t(int, const void*, size_t)>("write");
  char path[4096];
  if (descriptor <= 2 || !path_of(descriptor, path)) return do_write(descriptor, data, bytes);
  Settings& s = settings();
  bool now = hit("write", path);
  if (s.next_write_fails || (now && is_how("ENOSPC"))) {
    s.next_write_fails = false;
    errno = ENOSPC;
    return -1;
  }
  if (!now) return do_write(descriptor, data, bytes);
  if (is_how("EIO")) {
    errno = EIO;
    return -1;
  }
  ssize_t half = do_write(descriptor, data, bytes > 1 ? bytes / 2 : bytes);
  if (is_how("kill")) ::raise(SIGKILL);
  s.next_write_fails = is_how("full");
  return half;
}

int fsync(int descriptor) { return sync_as("fsync", descriptor); }
int fdatasync(int descriptor) { return sync_as("fdatasync", descriptor); }
int ftruncate(int descriptor, off_t size) { return cut_as("ftruncate", descriptor, size); }
int ftruncate64(int descriptor, off_t size) { return cut_as("ftruncate64", descriptor, size); }

int rename(const char* from, const char* to) {
  if (fails("rename", to)) return -1;
  return real<int(const char*, const char*)>("rename")(from, to);
}

int link(const char* from, const char* to) {
  if (fails("link", to)) return -1;
  return real<int(const char*, const char*)>("link")(from, to);
}

int mkdir(const char* path, mode_t mode) {
  if (fails("mkdir", path)) return -1;
  return real<int(const char*, mode_t)>("mkdir")(path, mode);
}

int unlink(const char* path) {
  if (fails("remove", path)) return -1;
  return real<int(const char*)>("unlink")(path);
}

int remove(const char* path) {
  if (fails("remove", path)) return -1;
  return real<int(const char*)>("remove")(path);
}

}  // extern "C"
