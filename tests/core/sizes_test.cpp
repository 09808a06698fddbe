// House sizes: small files, short functions, and headers that say what they are.
#include <gtest/gtest.h>

#include "source_scopes.h"
#include "source_tree.h"

namespace reprise {
namespace {

constexpr std::size_t kMostLines = 600, kUsualLines = 400;
constexpr double kUsualShare = 0.9;
constexpr std::size_t kFunctionLines = 60, kKernelLines = 90;

TEST(HouseSizes, NoFileIsLongAndMostAreShort) {
  auto files = source_tree::all_files();
  ASSERT_FALSE(files.empty());
  std::size_t usual = 0;
  std::string longest;
  for (const auto& file : files) {
    EXPECT_LE(file.lines.size(), kMostLines) << file.path;
    if (file.lines.size() <= kUsualLines) {
      ++usual;
    } else {
      longest += "\n  " + file.path + ": " + std::to_string(file.lines.size());
    }
  }
  EXPECT_GE(static_cast<double>(usual), kUsualShare * static_cast<double>(files.size()))
      << "files over " << kUsualLines << " lines:" << longest;
}

TEST(HouseSizes, NoFunctionIsLong) {
  for (const auto& file : source_tree::all_files()) {
    bool kernels = file.room == "ops" || file.path.ends_with(".cu") || file.path.ends_with(".cuh");
    source_tree::Scopes scopes = source_tree::scopes_of(file.lines);
    EXPECT_TRUE(scopes.balanced) << file.path << ": braces could not be counted";
    for (const source_tree::Function& function : scopes.functions) {
      EXPECT_LE(function.lines(), kernels ? kKernelLines : kFunctionLines)
          << file.path << ":" << function.first << ": " << file.lines[function.first - 1];
    }
  }
}

TEST(HouseSizes, TheCheckSeesFunctionsMembersAndTables) {
  auto found = source_tree::scopes_of({"namespace a {",
                                       "int f(int x) {  // a }",
                                       "  return x + '{';",
                                       "}",
                                       "",
                                       "struct S final : B<int> {",
                                       "  S() : x_{1} {",
                                       "    if (x_) {",
                                       "    }",
                                       "  }",
                                       "  const char* text = R\"(",
                                       "int no(int x) {",
                                       ")\";",
                                       "};",
                                       "const Op kOp{.run =",
                                       "                 [](int a) {",
                                       "                   return a;",
                                       "                 },",
                                       "             .more = {1, 2}};",
                                       "template <class T>",
                                       "void h(T a,",
                                       "       T b) {",
                                       "}",
                                       "}  // namespace a"})
                   .functions;
  std::vector<std::pair<std::size_t, std::size_t>> lines;
  for (const source_tree::Function& function : found) lines.emplace_back(function.first, function.last);
  EXPECT_EQ(lines, (std::vector<std::pair<std::size_t, std::size_t>>{{2, 4}, {7, 10}, {15, 18}, {20, 23}}));
}

// Tables do not count: files of a room, and the figures that a choice of it rests on.
TEST(HouseSizes, ReadmesOfRoomsAreShort) {
  constexpr std::size_t kReadmeLines = 20;
  std::vector<std::string> directories = source_tree::rooms();
  directories.insert(directories.end(), {"configs", "tests"});
  const std::filesystem::path root = REPRISE_SOURCE_DIR;
  for (const std::string& directory : directories) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / directory)) {
      std::string path = std::filesystem::relative(entry.path(), root).generic_string();
      if (entry.path().filename() != "README.md" || path.starts_with("configs/studies/records/")) continue;
      std::size_t count = 0;
      for (const std::string& line : source_tree::load(root, entry.path()).lines) {
        if (!line.starts_with("|")) ++count;
      }
      EXPECT_LE(count, kReadmeLines) << path;
    }
  }
}

}  // namespace
}  // namespace reprise
