// Arrows between rooms point one way, and CUDA shows in one header only.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "source_tree.h"

namespace reprise {
namespace {

using Allowed = std::map<std::string, std::set<std::string>>;

// core <- memory <- autograd <- ops <- recompute <- models <- tools, memory <- data <- models.
const Allowed& allowed() {
  static const Allowed kAllowed = {
      {"core", {"core"}},
      {"memory", {"core", "memory"}},
      {"autograd", {"core", "memory", "autograd"}},
      {"ops", {"core", "memory", "autograd", "ops"}},
      {"recompute", {"core", "memory", "autograd", "ops", "recompute"}},
      {"data", {"core", "memory", "data"}},
      {"models", {"core", "memory", "autograd", "ops", "recompute", "data", "models"}},
      {"tools", {"core", "memory", "autograd", "ops", "recompute", "data", "models", "tools"}},
  };
  return kAllowed;
}

// What is wrong with one line of a file of `room`; empty when nothing is.
std::string complaint(const std::string& room, const std::string& line) {
  static const std::regex kQuoted(R"re(^\s*#\s*include\s*"([^"]*)".*)re");
  std::smatch match;
  if (!std::regex_match(line, match, kQuoted)) return "";
  std::string path = match[1];
  std::string target = path.substr(0, path.find('/'));
  if (!allowed().contains(target) || target == path) return "includes \"" + path + "\", which names no room";
  if (!allowed().at(room).contains(target)) return room + " must not include " + target + " (\"" + path + "\")";
  return "";
}

TEST(IncludeOrder, RoomsIncludeOnlyTheRoomsBelowThem) {
  auto files = source_tree::sources(source_tree::rooms());
  ASSERT_FALSE(files.empty());
  for (const auto& file : files) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      std::string wrong = complaint(file.room, file.lines[i]);
      if (!wrong.empty()) ADD_FAILURE() << file.path << ":" << i + 1 << ": " << wrong;
    }
  }
}

TEST(IncludeOrder, TheCheckSeesAWrongInclude) {
  EXPECT_NE(complaint("core", "#include \"memory/arena.h\""), "");
  EXPECT_NE(complaint("data", "#  include \"ops/ops.h\"  // why"), "");
  EXPECT_NE(complaint("ops", "#include \"error.h\""), "");
  EXPECT_EQ(complaint("ops", "#include \"core/error.h\""), "");
  EXPECT_EQ(complaint("core", "#include <vector>"), "");
}

TEST(IncludeOrder, CudaShowsOnlyInTheDeviceSeam) {
  static const std::regex kCudaCondition(R"(^\s*#\s*(if|ifdef|ifndef|elif)\b.*CUDA.*)");
  for (const auto& file : source_tree::sources(source_tree::rooms())) {
    if (file.path == "core/device_seam.h") continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      EXPECT_FALSE(std::regex_match(file.lines[i], kCudaCondition))
          << file.path << ":" << i + 1 << ": " << file.lines[i];
    }
  }
}

TEST(IncludeOrder, CpuFilesIncludeNoDeviceHeader) {
  static const std::regex kDeviceHeader(R"re(^\s*#\s*include\s*[<"](cuda|cudnn|cublas|nccl)[^>"]*[>"].*|.*\.cuh".*)re");
  for (const auto& file : source_tree::sources(source_tree::rooms())) {
    if (file.path.ends_with(".cu") || file.path.ends_with(".cuh")) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      EXPECT_FALSE(std::regex_match(file.lines[i], kDeviceHeader))
          << file.path << ":" << i + 1 << ": " << file.lines[i];
    }
  }
}

}  // namespace
}  // namespace reprise
