// JSON from anybody: every refusal has its place, and nothing deep comes through.
#include "recompute/json_parse.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/text.h"

namespace reprise {
namespace {

using testing::contains;

std::string nested_lists(int levels) {
  return std::string(static_cast<std::size_t>(levels), '[') + std::string(static_cast<std::size_t>(levels), ']');
}

std::string json_refusal(const std::string& text) {
  return testing::error_of_kind(ErrorKind::user, [&] { parse_json(text, "reader", "a.json", "a list"); });
}

TEST(JsonParse, RefusalsSayWhere) {
  EXPECT_EQ(json_refusal(""), "[reader] a.json:1:1: expected a list, got the end of the file");
  EXPECT_EQ(json_refusal("[1,\n 2,\n x]"), "[reader] a.json:3:2: expected a list, got something else");
  EXPECT_EQ(json_refusal("[1,\n 2"), "[reader] a.json:2:3: expected a list, got the end of the file");
  EXPECT_EQ(json_refusal("[\n" + nested_lists(64) + "]"), "[reader] a.json:2:64: nested deeper than 64 levels");
  EXPECT_PRED2(contains, json_refusal(R"({"a": 1, "b": {"a": 1}, "a": 2})"), "a.json: the key 'a' comes twice");
  EXPECT_PRED2(contains, json_refusal("[1e999]"), "a.json: expected a list, got ");
}

TEST(JsonParse, LevelsAreCountedOutsideOfTextsOnly) {
  EXPECT_EQ(parse_json(nested_lists(64), "reader", "a.json", "a list").size(), 1u);
  std::string brackets = R"(["\"[[[[\\", "{{{{", ")" + std::string(100, '[') + R"("])";
  EXPECT_EQ(parse_json(brackets, "reader", "a.json", "a list").size(), 3u);
  EXPECT_EQ(find_nested_deeper(R"([["]"]])", 1), 1u);
  EXPECT_EQ(find_nested_deeper("[][][]", 1), std::string_view::npos);
}

TEST(JsonParse, ALineIsDiscardedWithoutAnError) {
  EXPECT_EQ(json_or_discarded("{\"a\": 1}")["a"], 1);
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("\"\xff\""), nested_lists(65), nested_lists(200'000)})
    EXPECT_TRUE(json_or_discarded(text).is_discarded()) << text.substr(0, 20);
}

}  // namespace
}  // namespace reprise
