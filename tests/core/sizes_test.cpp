// House sizes: small files, short functions, and headers that say what they are.
#include <gtest/gtest.h>

#include <regex>

#include "source_tree.h"

namespace reprise {
namespace {

constexpr std::size_t kMostLines = 600, kUsualLines = 400;
constexpr double kUsualShare = 0.9;
constexpr std::size_t kFunctionLines = 60, kKernelLines = 90;

std::vector<source_tree::SourceFile> all_files() {
  std::vector<std::string> directories = source_tree::rooms();
  directories.push_back("tests");
  return source_tree::sources(directories);
}

struct Function {
  std::size_t first = 0, last = 0;  // line numbers, from 1
  std::size_t lines() const { return last - first + 1; }
};

// Functions at namespace scope. In the house format such a body opens at the end of a line that is not indented (its
// signature may go on over indented lines before) and closes with a "}" alone in the first column.
std::vector<Function> functions_of(const std::vector<std::string>& lines) {
  static const std::regex kHead(R"(^[A-Za-z_\[].*\(.*)");
  static const std::regex kNoFunction(
      R"(^(namespace|struct|class|enum|union|using|extern|static const|const|constexpr)\b.*)");
  std::vector<Function> found;
  std::size_t head = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (line == "}") {
      if (head) found.push_back({head, i + 1});
      head = 0;
    } else if (std::regex_match(line, kHead) && !std::regex_match(line, kNoFunction)) {
      head = i + 1;
    } else if (!line.empty() && line[0] != ' ' && line[0] != '#' && line[0] != '/' && line[0] != ')') {
      if (line.starts_with("}")) head = 0;
    }
  }
  return found;
}

TEST(HouseSizes, NoFileIsLongAndMostAreShort) {
  auto files = all_files();
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
  for (const auto& file : all_files()) {
    bool kernels = file.room == "ops" || file.path.ends_with(".cu") || file.path.ends_with(".cuh");
    for (const Function& function : functions_of(file.lines)) {
      EXPECT_LE(function.lines(), kernels ? kKernelLines : kFunctionLines)
          << file.path << ":" << function.first << ": " << file.lines[function.first - 1];
    }
  }
}

TEST(HouseSizes, TheCheckSeesFunctions) {
  auto found =
      functions_of({"namespace a {", "int f(int x) {", "  return x;", "}", "", "struct S {", "  int g() {", "  }", "};",
                    "template <class T>", "void h(T a,", "       T b) {", "}", "}  // namespace a"});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].lines(), 3u);
  EXPECT_EQ(found[1].first, 11u);
}

TEST(HouseStyle, HeadersOpenWithTwoToEightLinesOfComment) {
  for (const auto& file : all_files()) {
    if (!file.path.ends_with(".h") && !file.path.ends_with(".cuh")) continue;
    std::size_t comment = 0;
    while (comment < file.lines.size() && file.lines[comment].starts_with("//")) ++comment;
    EXPECT_GE(comment, 2u) << file.path;
    EXPECT_LE(comment, 8u) << file.path;
    ASSERT_LT(comment, file.lines.size()) << file.path;
    EXPECT_EQ(file.lines[comment], "#pragma once") << file.path;
  }
}

}  // namespace
}  // namespace reprise
