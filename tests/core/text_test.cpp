#include "core/text.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

TEST(Text, BytesAreInTheUnitThatLeavesASmallNumber) {
  EXPECT_EQ(short_bytes(0), "0 B");
  EXPECT_EQ(short_bytes(1023), "1023 B");
  EXPECT_EQ(short_bytes(1024), "1.0 KiB");
  EXPECT_EQ(short_bytes(std::int64_t{3} << 29), "1.5 GiB");
  EXPECT_EQ(short_bytes(std::int64_t{1} << 52), "4096.0 TiB");
  EXPECT_EQ(short_bytes(-2048), "-2048 B");
}

TEST(Text, OnlyOneThingIsSingular) {
  EXPECT_EQ(counted(0, "read"), "0 reads");
  EXPECT_EQ(counted(1, "read"), "1 read");
  EXPECT_EQ(counted(2, "read"), "2 reads");
}

TEST(Text, ColumnsOfATableAreAligned) {
  EXPECT_EQ(format_table({{"name", "n"}, {"a", "10"}}, {false, true}), "name   n\na     10\n");
  EXPECT_EQ(format_table({{"a", "b"}, {"long", "c"}}), "a     b\nlong  c\n");
}

TEST(Text, RowsOfATableMayBeShortAndEndInNoBlanks) {
  EXPECT_EQ(format_table({{"a"}, {"bb", "", "c"}, {"d", "", ""}, {}}), "a\nbb    c\nd\n\n");
  EXPECT_EQ(format_table({}), "");
}

}  // namespace
}  // namespace reprise
