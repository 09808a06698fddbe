// Processor, memory and CUDA as the kernel and the driver tell.
#include <dlfcn.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/text.h"
#include "memory/machine_memory.h"
#include "ops/onednn.h"
#include "tools/doctor/doctor.h"

namespace reprise::doctor {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// What stands behind "name" and a colon or an equals sign in a file of such lines.
std::string field(const std::string& path, const std::string& name) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name)) continue;
    std::size_t at = line.find_first_of(":=");
    if (at == std::string::npos) continue;
    at = line.find_first_not_of(" \t\"", at + 1);
    if (at == std::string::npos) return "";
    return line.substr(at, line.find_last_not_of(" \"") + 1 - at);
  }
  return "";
}

int usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

/// How many cores' time the group of this process may take; 0 where nothing limits it.
double quota_cores() {
  std::istringstream in(first_line("/sys/fs/cgroup/cpu.max"));  // "max 100000", or microseconds of each so many
  double quota = 0, period = 0;
  return in >> quota >> period && period > 0 ? quota / period : 0;
}

/// Those instruction sets that kernels are chosen by.
std::string instruction_sets() {
  std::istringstream flags(field("/proc/cpuinfo", "flags"));
  std::string text;
  for (std::string flag; flags >> flag;) {
    bool told = flag == "avx2" || flag == "fma" || flag.starts_with("avx512") || flag.starts_with("avx_") ||
                flag.starts_with("amx") || flag == "f16c" || flag == "bmi2";
    if (told) text += (text.empty() ? "" : " ") + flag;
  }
  return text.empty() ? "unknown" : text;
}

std::string or_unset(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "(not set)";
}

std::int64_t kilobytes(const char* name) {
  return std::strtoll(field("/proc/meminfo", name).c_str(), nullptr, 10) * 1024;
}

/// The choice in brackets: "always [madvise] never" to "madvise".
std::string chosen(const std::string& line) {
  std::size_t open = line.find('['), close = line.find(']');
  return open == std::string::npos || close == std::string::npos ? "unknown" : line.substr(open + 1, close - open - 1);
}

std::string huge_pages() { return chosen(first_line("/sys/kernel/mm/transparent_hugepage/enabled")); }

/// Functions of the driver, found at run time: the program must start where there is none.
class Driver {
 public:
  Driver() : library_(::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL)) {}
  ~Driver() {
    if (library_) ::dlclose(library_);
  }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  explicit operator bool() const { return library_ != nullptr; }

  template <class... Args>
  bool call(const char* name, Args... args) const {
    auto* function = reinterpret_cast<int (*)(Args...)>(::dlsym(library_, name));
    return function && function(args...) == 0;
  }

 private:
  void* library_;
};

void add_device(const Driver& driver, int index, Section& s) {
  constexpr int kMajor = 75, kMinor = 76, kProcessors = 16;  // attributes of cuDeviceGetAttribute
  int device = 0, major = 0, minor = 0, processors = 0;
  std::size_t bytes = 0;
  char name[256] = "unknown";
  if (!driver.call("cuDeviceGet", &device, index)) return;
  driver.call("cuDeviceGetName", static_cast<char*>(name), 256, device);
  driver.call("cuDeviceTotalMem_v2", &bytes, device);
  driver.call("cuDeviceGetAttribute", &major, kMajor, device);
  driver.call("cuDeviceGetAttribute", &minor, kMinor, device);
  driver.call("cuDeviceGetAttribute", &processors, kProcessors, device);
  s.facts.emplace_back(fmt::format("device {}", index),
                       fmt::format("{}, compute capability {}.{}, {} multiprocessors, {}", name, major, minor,
                                   processors, short_bytes(static_cast<std::int64_t>(bytes))));
}

}  // namespace

Section processor() {
  Section s{"processor", {}};
  utsname system{};
  ::uname(&system);
  std::string name = field("/etc/os-release", "PRETTY_NAME"), model = field("/proc/cpuinfo", "model name");
  s.facts = {
      {"system",
       fmt::format("{}, {} {} {}", name.empty() ? "unknown" : name, system.sysname, system.release, system.machine)},
      {"model", model.empty() ? "unknown" : model},
      {"cores", fmt::format("{}, {} of them for this process", std::thread::hardware_concurrency(), usable_cores())},
      {"threads of a run", fmt::format("{}, unless threads=N says otherwise", usable_cores())},
      {"instruction sets", instruction_sets()},
      {"oneDNN uses", onednn::isa_name()},
      {"quota (cgroup cpu.max)",
       first_line("/sys/fs/cgroup/cpu.max").empty() ? "none" : first_line("/sys/fs/cgroup/cpu.max")},
      {"load", first_line("/proc/loadavg")},
      {"OMP_NUM_THREADS", or_unset("OMP_NUM_THREADS")},
      {"OMP_WAIT_POLICY", or_unset("OMP_WAIT_POLICY")},
      {"GOMP_SPINCOUNT", or_unset("GOMP_SPINCOUNT")}};
  return s;
}

Section memory() {
  Section s{"memory", {}};
  std::string limit = first_line("/sys/fs/cgroup/memory.max");
  s.facts = {{"of the machine", short_bytes(kilobytes("MemTotal"))},
             {"available", short_bytes(kilobytes("MemAvailable"))},
             {"limit (cgroup memory.max)", limit.empty() || limit == "max" ? "none" : limit + " bytes"},
             {"huge pages on request", huge_pages()},
             {"reserved huge pages", field("/proc/meminfo", "HugePages_Total")}};
  return s;
}

Section cuda() {
  Section s{"CUDA", {}};
  s.facts.emplace_back("toolkit of the build", REPRISE_BUILD_CUDA);
  Driver driver;
  int version = 0, count = 0;
  if (!driver) {
    s.facts.emplace_back("driver", "none found (no libcuda.so.1)");
  } else if (!driver.call("cuInit", 0u) || !driver.call("cuDriverGetVersion", &version)) {
    s.facts.emplace_back("driver", "found, but it does not start (no device?)");
  } else {
    s.facts.emplace_back("driver", fmt::format("for CUDA {}.{}", version / 1000, version % 1000 / 10));
    driver.call("cuDeviceGetCount", &count);
    s.facts.emplace_back("devices", std::to_string(count));
    for (int i = 0; i < count; ++i) add_device(driver, i, s);
  }
  return s;
}

std::vector<std::string> notes() {
  std::vector<std::string> found;
  if (const char* reason = onednn::refusal()) {
    found.push_back(fmt::format(
        "convolutions (those above that are not Winograd's) and matrix products run by Eigen, several times slower: {}",
        reason));
  }
  if (huge_pages() == "never") {
    found.push_back(
        "huge pages are off (/sys/kernel/mm/transparent_hugepage/enabled): large tensors are slower to reach");
  }
  if (double quota = quota_cores(); quota > 0 && quota < usable_cores()) {
    found.push_back(fmt::format("a quota gives this process {:.1f} cores' time for its {} cores: give runs threads=N",
                                quota, usable_cores()));
  }
  if (kilobytes("MemAvailable") < (std::int64_t{1} << 30)) found.push_back("less than 1 GiB of memory is available");
  double load = std::strtod(first_line("/proc/loadavg").c_str(), nullptr);
  if (load > usable_cores()) found.push_back("other programs keep the cores busy: figures of speed mean little now");
  struct statvfs disk {};
  if (::statvfs(".", &disk) == 0) {
    auto free = static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
    if (free < (std::int64_t{1} << 30))
      found.push_back(fmt::format("{} left on the disk of this folder", short_bytes(free)));
  }
  return found;
}

}  // namespace reprise::doctor
