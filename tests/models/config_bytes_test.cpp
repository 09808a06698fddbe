// A run's configuration is written into its folder and read back when the run goes on: what could not be read back is
// refused, or never comes into it.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "models/config/config.h"
#include "tests/support/errors.h"
#include "tests/support/text.h"

namespace reprise {
namespace {

using namespace testing;

std::string refused_text(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return error_of_kind(ErrorKind::config, [&] { parse_config(text, "run.yaml", overrides); });
}

TEST(ConfigBytes, WhatIsNoUtf8IsRefusedWhereverItStands) {
  const std::string text = refused_text("{}", {"seed=1", "data.path=a\xff"});
  EXPECT_PRED2(contains, text, "command line argument 2: data.path=a?:12: expected text in UTF-8, got the byte 0xff");
  // A last byte that is missing, one too many, half of a pair of surrogates, forms longer than need be, and beyond the
  // last character.
  for (const char* bad : {"\xc3", "\x80", "\xed\xa0\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xf0\x80\x80\xaf",
                          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80"}) {
    EXPECT_PRED2(contains, refused_text("{}", {std::string("run.dir=") + bad}), "expected text in UTF-8");
    EXPECT_PRED2(contains, refused_text(std::string("run: {dir: '") + bad + "'}"),
                 "run.yaml:1:13: expected text in UTF-8");
  }
}

TEST(ConfigBytes, TextsOfAllAlphabetsComeBack) {
  const std::string path = "d\xc3\xa9j\xc3\xa0/\xe2\x98\x83 \xed\x9f\xbf/\xf0\x9d\x84\x9e\xf4\x8f\xbf\xbd";
  Config config = parse_config("{}", "run.yaml", {"data.path='" + path + "'"});
  EXPECT_EQ(config.get_string("data.path"), path);
  EXPECT_EQ(parse_config(config.to_yaml(), "config.yaml").get_string("data.path"), path);
}

TEST(ConfigBytes, TheNameOfARunHoldsNothingThatItsConfigurationCannot) {
  EXPECT_EQ(parse_config("{}", "runs/d\xc3\xa9mo.yaml").name(), "d\xc3\xa9mo");
  EXPECT_EQ(parse_config("{}",
                         "a\nb\xff"
                         "c.yaml")
                .name(),
            "a_b_c");
}

TEST(ConfigBytes, DurationsOfAnySizeComeBack) {
  EXPECT_TRUE(rc::check([] {
    Config config = load_config("");
    config.set("run.lock_wait", std::abs(*rc::gen::arbitrary<double>()), "test");
    RC_ASSERT(parse_config(config.to_yaml(), "config.yaml").value("run.lock_wait") == config.value("run.lock_wait"));
  }));
  for (const char* given : {"1e-7", "1e20", "0.25", "1h30min", "0"}) {
    Config config = parse_config("{}", "run.yaml", {std::string("run.lock_wait=") + given});
    Config back = parse_config(config.to_yaml(), "config.yaml");
    EXPECT_EQ(back.get_seconds("run.lock_wait"), config.get_seconds("run.lock_wait")) << given;
  }
}

TEST(ConfigBytes, SizesOfSetsThatCannotBeMadeAreRefusedWithTheirPlace) {
  EXPECT_PRED2(contains, refused_text("data:\n  synthetic: {train: 2000000}\n"),
               "run.yaml:2:22: data.synthetic.train expects an integer, from 100 to 1000000 (images)");
}

}  // namespace
}  // namespace reprise
