// Serving operands apart: each gets a copy of what its view spans and no more, at the version that was read, and a
// write past the doors is seen by a copy as by anybody else.
#include <gtest/gtest.h>

#include "autograd/execute.h"
#include "memory/memory.h"
#include "tests/support/errors.h"

namespace reprise {
namespace {

class ServingTest : public ::testing::Test {
 protected:
  ServingTest() {
    memory_.preserver().set_guard(true);
    table_ = make_tensor(memory_.allocator(), memory_.observer(), DType::f32, {1000, 4}, Category::state);
    auto numbers = table_.host_write<float>();
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  }
  ~ServingTest() override {
    for (ReadId read : reads_) memory_.preserver().drop(read);
  }

  ReadId owe(const Region& region) {
    reads_.push_back(memory_.preserver().owe(table_.storage(), region, StateOption::region, {"", "test", "table"}));
    return reads_.back();
  }
  std::int64_t preserved() const { return memory_.meter().live(Category::preserved); }
  static std::vector<float> numbers_of(const TensorView& view) {
    std::vector<float> all;
    for (std::int64_t i = 0; i < view.shape[0]; ++i) all.push_back(view.as<float>()[i * view.strides[0]]);
    return all;
  }

  Memory memory_;
  Tensor table_;
  std::vector<ReadId> reads_;
};

TEST_F(ServingTest, ApartCopiesTheBytesThatAViewSpans) {
  Serving serving(memory_.preserver());
  std::int64_t before = preserved();
  serving.add(table_.with_view({3}, {4}, 2001), kNoRead);
  serving.add(table_.with_view({3}, {-4}, 41), kNoRead);
  serving.add(table_.with_view({0}, {1}, 4000), kNoRead);
  serving.serve(true);
  EXPECT_EQ(preserved() - before, 2 * 64);  // 36 bytes each
  table_.host_write<float>()[2005] = -1;
  EXPECT_EQ(numbers_of(serving.view(0)), (std::vector<float>{2001, 2005, 2009}));
  EXPECT_EQ(numbers_of(serving.view(1)), (std::vector<float>{41, 37, 33}));
  EXPECT_EQ(serving.view(2).size(), 0);
  EXPECT_TRUE(serving.view(2).defined());
}

TEST_F(ServingTest, ApartShowsOverwrittenBytesAsTheyWere) {
  Tensor rows = table_.with_view({2, 4}, {4, 1}, 2000), column = table_.with_view({2}, {4}, 2001);
  ReadId of_rows = owe(rows.region()), of_column = owe(column.region());
  for (float& number : table_.host_write<float>()) number = -1;
  Serving serving(memory_.preserver());
  std::int64_t before = preserved();
  serving.add(rows, of_rows);
  serving.add(column, of_column);
  serving.serve(true);
  EXPECT_EQ(preserved() - before, 2 * 64);
  EXPECT_EQ(serving.view(0).as<float>()[7], 2007);
  EXPECT_EQ(numbers_of(serving.view(1)), (std::vector<float>{2001, 2005}));
  EXPECT_EQ(memory_.preserver().open_blocks(), 0);
  EXPECT_EQ(table_.host_read<float>()[2001], -1);
}

TEST_F(ServingTest, ACopyOfForeignBytesIsRefusedAsThoseThemselves) {
  Tensor row = table_.with_view({4}, {1}, 2000);
  ReadId read = owe(row.region());
  table_.view().as<float>()[2002] = -1;  // past the doors
  Serving serving(memory_.preserver());
  serving.add(row, read);
  for (bool apart : {false, true}) {
    std::string text = testing::error_of_kind(ErrorKind::replay, [&] { serving.serve(apart); });
    EXPECT_NE(text.find("without passing a door"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace reprise
