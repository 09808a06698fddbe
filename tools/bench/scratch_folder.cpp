#include "tools/bench/scratch_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace reprise::bench {

ScratchFolder::ScratchFolder() {
  std::error_code error;
  std::filesystem::path above = std::filesystem::temp_directory_path(error);
  if (error) fail(ErrorKind::io, "[bench] cannot find the folder for temporary files (TMPDIR): {}", error.message());
  std::string name = (above / "reprise-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    fail(ErrorKind::io, "[bench] cannot make a temporary folder {}: {}", name, std::strerror(errno));
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace reprise::bench
