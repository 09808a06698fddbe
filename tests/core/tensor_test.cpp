#include "core/tensor.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "tests/support/errors.h"

namespace reprise {
namespace {

class Heap final : public Allocator {
 public:
  Device device() const override { return {}; }
  Allocation allocate(std::int64_t bytes, Category) override {
    std::int64_t charged = round_up_64(bytes);
    return {static_cast<std::byte*>(std::aligned_alloc(64, static_cast<std::size_t>(charged))), charged};
  }
  void release(const Allocation& allocation, Category) noexcept override { std::free(allocation.data); }
};

TEST(Tensor, BytesAreThoseOfTheViewAndGoThroughTheDoors) {
  Heap heap;
  Tensor whole = make_tensor(heap, nullptr, DType::i32, {4, 3}, Category::state, true);
  Tensor row = whole.with_view({3}, {1}, 6);
  EXPECT_EQ(row.host_read_bytes().size(), 12u);
  std::vector<std::int32_t> numbers = {7, 8, 9};
  std::span<std::byte> to = row.host_write_bytes("test");
  ASSERT_EQ(to.size(), 12u);
  std::copy_n(reinterpret_cast<const std::byte*>(numbers.data()), to.size(), to.begin());
  EXPECT_EQ(whole.storage().clock(), 1u);
  EXPECT_STREQ(whole.storage().last_writer().name, "test");
  EXPECT_EQ(whole.to_doubles(), (std::vector<double>{0, 0, 0, 0, 0, 0, 7, 8, 9, 0, 0, 0}));
  Tensor column = whole.with_view({4}, {3}, 0);
  testing::expect_error(ErrorKind::user, {"expected a contiguous tensor"}, [&] { column.host_read_bytes(); });
  testing::expect_error(ErrorKind::user, {"expected a contiguous tensor"}, [&] { column.host_write_bytes(); });
  testing::expect_error(ErrorKind::user, {"expected a tensor, got none"}, [&] { Tensor().host_read_bytes(); });
  testing::expect_error(ErrorKind::user, {"[to_doubles]", "got none"}, [&] { Tensor().to_doubles(); });
  testing::expect_error(ErrorKind::user, {"[test]", "got none"},
                        [&] { Tensor().assign_doubles(std::vector<double>{1}, "test"); });
  EXPECT_EQ(whole.storage().clock(), 1u);
}

}  // namespace
}  // namespace reprise
