// Text of charts: broken into lines, shortened, and made safe for XML.
#include <gtest/gtest.h>

#include "tools/chart/text.h"

namespace reprise::chart {
namespace {

TEST(ChartText, IsBrokenAtBlanksAndWithinLongWords) {
  std::vector<std::string> lines = wrap_text("one two  three\nfour", 10, 60);
  EXPECT_GT(lines.size(), 1U);
  for (const std::string& line : lines) EXPECT_LE(text_width(line, 10), 60);
  lines = wrap_text(std::string(100, 'x'), 10, 60);
  std::string joined;
  for (const std::string& line : lines) {
    EXPECT_LE(text_width(line, 10), 60);
    joined += line;
  }
  EXPECT_EQ(joined, std::string(100, 'x'));
  EXPECT_TRUE(wrap_text("", 10, 60).empty());
  EXPECT_TRUE(wrap_text("  \n ", 10, 60).empty());
  EXPECT_EQ(wrap_text("ab", 10, 1).size(), 2U);  // a character at least, however narrow
}

TEST(ChartText, IsShortenedInTheMiddle) {
  std::string text = "configs/cifar100_resnet18_dense_queue.yaml";
  std::string shortened = shorten_text(text, 11, 120);
  EXPECT_LE(text_width(shortened, 11), 120);
  EXPECT_NE(shortened.find("…"), std::string::npos);
  EXPECT_EQ(shortened.substr(0, 3), "con");
  EXPECT_EQ(shortened.substr(shortened.size() - 3), "aml");
  EXPECT_EQ(shorten_text("short", 11, 120), "short");
}

TEST(ChartText, IsEscapedAndAlwaysUtf8) {
  EXPECT_EQ(escape_xml("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(escape_xml("µ → 日本 😀"), "µ → 日本 😀");
  EXPECT_EQ(escape_xml(std::string("\x01\x00z", 3)), "��z");
  EXPECT_EQ(escape_xml("\xff\xfe"), "��");
  EXPECT_EQ(escape_xml("\xc3"), "�");                 // cut short
  EXPECT_EQ(escape_xml("\xed\xa0\x80"), "�");         // a surrogate
  EXPECT_EQ(escape_xml("\xe0\x80\xafx"), "���x");     // longer than needed
  EXPECT_EQ(escape_xml("\xf4\x90\x80\x80"), "����");  // beyond the last character
}

}  // namespace
}  // namespace reprise::chart
