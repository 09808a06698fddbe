// House style that a reader relies on and a formatter does not see to: headers that say what they are, one definition
// for each name, lines that fit, and error texts that begin with their stage.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "source_scopes.h"
#include "source_tree.h"

namespace reprise {
namespace {

constexpr std::size_t kColumns = 120;

/// Characters, not bytes: bytes that go on with a character of UTF-8 are not counted.
std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

TEST(HouseStyle, HeadersOpenWithTwoToEightLinesOfComment) {
  for (const auto& file : source_tree::all_files()) {
    if (!file.path.ends_with(".h") && !file.path.ends_with(".cuh")) continue;
    std::size_t comment = 0;
    while (comment < file.lines.size() && file.lines[comment].starts_with("//")) ++comment;
    EXPECT_GE(comment, 2u) << file.path;
    EXPECT_LE(comment, 8u) << file.path;
    ASSERT_LT(comment, file.lines.size()) << file.path;
    EXPECT_EQ(file.lines[comment], "#pragma once") << file.path;
  }
}

// Two classes of one name and namespace in two files are one class to the linker, which takes the functions of either.
TEST(HouseStyle, NoClassIsDefinedTwice) {
  std::map<std::string, std::string> places;
  for (const auto& file : source_tree::sources(source_tree::rooms())) {
    for (const source_tree::Class& found : source_tree::scopes_of(file.lines).classes) {
      if (found.local) continue;
      std::string place = file.path + ":" + std::to_string(found.line);
      auto [first, fresh] = places.emplace(found.name, place);
      EXPECT_TRUE(fresh) << found.name << ": " << first->second << " and " << place;
    }
  }
  EXPECT_EQ(places.count("reprise::Tape"), 1u);
}

TEST(HouseStyle, TheCheckSeesClassesWhereTheyAre) {
  auto found = source_tree::scopes_of({"namespace a::b {", "template <class T>", "class C final : public D {",
                                       "  enum class E { one };", "};", "template <>", "struct C<int> {", "};",
                                       "class Later;", "namespace {", "struct F {", "};", "}", "}"})
                   .classes;
  std::vector<std::string> names;
  for (const source_tree::Class& each : found) names.push_back(each.name + (each.local ? " here" : ""));
  EXPECT_EQ(names, (std::vector<std::string>{"a::b::C", "a::b::C::E", "a::b::F here"}));
}

// A text is left whole, so that it can be searched for.
TEST(HouseStyle, LinesFitUnlessTheyAreATextAlone) {
  for (const auto& file : source_tree::all_files()) {
    const source_tree::CodeOnly code(file.lines);
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      if (columns(line) <= kColumns || code.in_literal(i)) continue;
      std::string text = line.substr(line.find_first_not_of(' '));
      EXPECT_TRUE(text.starts_with("\"") || text.starts_with("R\"")) << file.path << ":" << i + 1 << ": " << text;
    }
  }
}

/// What stands before the parenthesis that closes a call; `text` begins behind the one that opens it.
std::string arguments_of(const std::string& text) {
  std::size_t end = 0;
  for (int open = 1; end < text.size(); ++end) {
    open += (text[end] == '(') - (text[end] == ')');
    if (open == 0) break;
  }
  return text.substr(0, end);
}

// The standard library's own errors say neither who asked for the file nor what to do.
TEST(HouseStyle, FilesAreAskedAboutWithoutExceptionsOfTheStandardLibrary) {
  static const std::regex kAsk(R"rx(\b(fs|filesystem)::(\w+)\()rx");
  static const std::regex kCode("error|ignored|status");
  static const std::set<std::string> kThrow = {
      "absolute",         "canonical",      "copy",         "copy_file",       "copy_symlink",   "create_directories",
      "create_directory", "create_symlink", "current_path", "equivalent",      "exists",         "file_size",
      "hard_link_count",  "is_directory",   "is_empty",     "is_regular_file", "is_symlink",     "last_write_time",
      "permissions",      "proximate",      "read_symlink", "relative",        "remove",         "remove_all",
      "rename",           "resize_file",    "space",        "status",          "symlink_status", "temp_directory_path",
      "weakly_canonical"};
  std::size_t seen = 0;
  for (const auto& file : source_tree::sources(source_tree::rooms())) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      std::string text = file.lines[i] + (i + 1 < file.lines.size() ? file.lines[i + 1] : "");
      for (std::sregex_iterator at(text.begin(), text.end(), kAsk), none; at != none; ++at) {
        if (at->position() >= static_cast<std::ptrdiff_t>(file.lines[i].size())) break;  // the next line's
        bool walks = (*at)[2].str().ends_with("directory_iterator");
        EXPECT_TRUE(!walks || file.path == "data/folder.cpp") << file.path << ":" << i + 1 << ": use paths_in()";
        if (!kThrow.contains((*at)[2])) continue;
        ++seen;
        EXPECT_TRUE(std::regex_search(arguments_of(at->suffix()), kCode))
            << file.path << ":" << i + 1 << ": pass an error code: " << file.lines[i];
      }
    }
  }
  EXPECT_GT(seen, 20u);
}

TEST(HouseStyle, ErrorTextsBeginWithTheirStage) {
  static const std::regex kText(R"rx(\bfail\(\s*[\w:]+,\s*"(.))rx");
  std::size_t seen = 0;
  for (const auto& file : source_tree::sources(source_tree::rooms())) {
    std::string text;
    for (const std::string& line : file.lines) text += line + "\n";
    for (auto match = std::sregex_iterator(text.begin(), text.end(), kText); match != std::sregex_iterator(); ++match) {
      ++seen;
      auto line = 1 + std::count(text.begin(), text.begin() + match->position(), '\n');
      EXPECT_EQ((*match)[1], "[") << file.path << ":" << line << ": " << match->str();
    }
  }
  EXPECT_GT(seen, 100u) << "the check finds no texts";
}

}  // namespace
}  // namespace reprise
