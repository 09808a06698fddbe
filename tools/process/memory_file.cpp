#include "tools/process/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace reprise::process {

MemoryFile::MemoryFile(const char* name, const char* who) : who_(who), descriptor_(::memfd_create(name, MFD_CLOEXEC)) {
  if (descriptor_ < 0) fail(ErrorKind::io, "[{}] cannot make a file in memory: {}", who_, std::strerror(errno));
}

MemoryFile::~MemoryFile() { ::close(descriptor_); }

std::string MemoryFile::text() const {
  std::string all;
  char buffer[16384];
  ssize_t got = 0;
  while ((got = ::pread(descriptor_, buffer, sizeof buffer, static_cast<off_t>(all.size()))) > 0) {
    all.append(buffer, static_cast<std::size_t>(got));
  }
  return all;
}

void MemoryFile::write(const std::string& text) {
  if (::pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    fail(ErrorKind::io, "[{}] cannot write a process's input: {}", who_, std::strerror(errno));
  }
}

}  // namespace reprise::process
