#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <string>

#include "core/dtype.h"
#include "core/shape.h"

namespace reprise {
namespace {

float bits_to_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
float through_bf16(float x) { return static_cast<float>(BFloat16(x)); }

TEST(DType, SizesAndNamesAreThoseOfTheFormats) {
  EXPECT_EQ(size_of(DType::f32), 4);
  EXPECT_EQ(size_of(DType::f64), 8);
  EXPECT_EQ(size_of(DType::bf16), 2);
  EXPECT_EQ(size_of(DType::i32), 4);
  EXPECT_EQ(size_of(DType::i64), 8);
  EXPECT_EQ(size_of(DType::u8), 1);
  EXPECT_EQ(size_of(DType::boolean), 1);
  EXPECT_STREQ(to_string(DType::bf16), "bf16");
  EXPECT_STREQ(to_string(DType::boolean), "bool");
  EXPECT_TRUE(is_floating(DType::bf16));
  EXPECT_FALSE(is_floating(DType::i64));
}

TEST(DType, DispatchReachesTheTypeOfEveryDtype) {
  for (int i = 0; i < kDTypeCount; ++i) {
    DType dtype = static_cast<DType>(i);
    DType seen = dispatch_any(dtype, []<class T>() { return DTypeOf<T>::value; });
    EXPECT_EQ(seen, dtype);
    EXPECT_EQ(dispatch_any(dtype, []<class T>() { return static_cast<std::int64_t>(sizeof(T)); }), size_of(dtype));
  }
}

TEST(DType, FloatDispatchRefusesOtherTypesByName) {
  EXPECT_EQ(dispatch_float(DType::f64, []<class T>() { return sizeof(T); }), 8u);
  try {
    dispatch_float(DType::i32, []<class T>() { return 0; });
    FAIL() << "i32 was dispatched";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    EXPECT_NE(error.message().find("i32"), std::string::npos);
  }
}

TEST(BFloat16, RoundsToNearestWithTiesToEven) {
  EXPECT_EQ(through_bf16(bits_to_float(0x3f808000)), bits_to_float(0x3f800000));  // tie, even below
  EXPECT_EQ(through_bf16(bits_to_float(0x3f818000)), bits_to_float(0x3f820000));  // tie, even above
  EXPECT_EQ(through_bf16(bits_to_float(0x3f808001)), bits_to_float(0x3f810000));
  EXPECT_EQ(through_bf16(bits_to_float(0x3f807fff)), bits_to_float(0x3f800000));
  EXPECT_EQ(BFloat16(-0.0f).bits, 0x8000);
}

TEST(BFloat16, InfinityNanAndOverflow) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(through_bf16(kInfinity), kInfinity);
  EXPECT_EQ(through_bf16(-kInfinity), -kInfinity);
  EXPECT_EQ(through_bf16(std::numeric_limits<float>::max()), kInfinity);
  EXPECT_TRUE(std::isnan(through_bf16(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(through_bf16(bits_to_float(0x7f800001))));  // payload in the dropped half only
  EXPECT_TRUE(std::isnan(through_bf16(bits_to_float(0xffffffff))));
}

TEST(BFloat16, EveryBf16NumberSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits <= 0xffffu; ++bits) {
    BFloat16 number;
    number.bits = static_cast<std::uint16_t>(bits);
    float wide = static_cast<float>(number);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(through_bf16(wide))) << bits;
    } else {
      ASSERT_EQ(BFloat16(wide).bits, bits);
    }
  }
}

TEST(BFloat16, NoBf16NumberIsNearerThanTheRoundedOne) {
  EXPECT_TRUE(rc::check([](std::uint32_t bits) {
    float x = bits_to_float(bits);
    RC_PRE(std::isfinite(x) && std::isfinite(through_bf16(x)));
    BFloat16 rounded(x), lower = rounded, upper = rounded;
    --lower.bits;
    ++upper.bits;
    double error = std::abs(static_cast<double>(static_cast<float>(rounded)) - x);
    for (BFloat16 other : {lower, upper}) {
      double distance = std::abs(static_cast<double>(static_cast<float>(other)) - x);
      if (std::isfinite(distance)) RC_ASSERT(error <= distance);
    }
  }));
}

TEST(Shape, ElementCountAndText) {
  EXPECT_EQ(element_count(Shape{}), 1);
  EXPECT_EQ(element_count(Shape{2, 3, 4}), 24);
  EXPECT_EQ(element_count(Shape{5, 0}), 0);
  EXPECT_EQ(to_string(Shape{2, 3, 4}), "[2, 3, 4]");
  EXPECT_EQ(to_string(Shape{}), "[]");
}

TEST(Shape, InsertAndEraseKeepTheOtherAxes) {
  Shape shape{2, 4};
  shape.insert(1, 3);
  EXPECT_EQ(shape, (Shape{2, 3, 4}));
  shape.erase(0);
  EXPECT_EQ(shape, (Shape{3, 4}));
  shape.push_back(9);
  EXPECT_EQ(shape.back(), 9);
  EXPECT_NE(shape, (Shape{3, 4}));
}

TEST(Shape, RefusesMoreAxesThanItHolds) {
  EXPECT_EQ((Shape{1, 2, 3, 4, 5, 6}).size(), kMaxRank);
  try {
    Shape{1, 2, 3, 4, 5, 6, 7};
    FAIL() << "seven axes were taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::user);
  }
}

TEST(Shape, ContiguityIgnoresAxesOfLengthOne) {
  EXPECT_EQ(contiguous_strides(Shape{2, 3, 4}), (Strides{12, 4, 1}));
  EXPECT_TRUE(is_contiguous(Shape{2, 1, 4}, Strides{4, 999, 1}));
  EXPECT_FALSE(is_contiguous(Shape{2, 3}, Strides{1, 2}));
  EXPECT_FALSE(is_contiguous(Shape{4}, Strides{0}));
}

TEST(Shape, BroadcastFollowsNumpy) {
  Shape out;
  ASSERT_TRUE(broadcast_shapes(Shape{5, 1, 4}, Shape{3, 1}, &out));
  EXPECT_EQ(out, (Shape{5, 3, 4}));
  ASSERT_TRUE(broadcast_shapes(Shape{}, Shape{2, 3}, &out));
  EXPECT_EQ(out, (Shape{2, 3}));
  ASSERT_TRUE(broadcast_shapes(Shape{1}, Shape{0}, &out));
  EXPECT_EQ(out, (Shape{0}));
  out = Shape{7};
  EXPECT_FALSE(broadcast_shapes(Shape{2}, Shape{3}, &out));
  EXPECT_EQ(out, (Shape{7})) << "a failed broadcast changed its output";
}

TEST(Shape, BroadcastIsSymmetricAndIdempotent) {
  EXPECT_TRUE(rc::check([] {
    auto shape = [] {
      Shape s;
      int rank = *rc::gen::inRange(0, kMaxRank + 1);
      for (int i = 0; i < rank; ++i) s.push_back(*rc::gen::element(1, 1, 2, 3));
      return s;
    };
    Shape a = shape(), b = shape(), ab, ba, again;
    bool fits = broadcast_shapes(a, b, &ab);
    RC_ASSERT(broadcast_shapes(b, a, &ba) == fits);
    if (!fits) return;
    RC_ASSERT(ab == ba);
    RC_ASSERT(broadcast_shapes(ab, a, &again) && again == ab);
  }));
}

TEST(Shape, AxesCountFromBothEnds) {
  EXPECT_EQ(normalize_axis(0, 3, "sum"), 0);
  EXPECT_EQ(normalize_axis(-1, 3, "sum"), 2);
  EXPECT_EQ(normalize_axis(-3, 3, "sum"), 0);
  for (std::int64_t axis : {std::int64_t{3}, std::int64_t{-4}}) {
    try {
      normalize_axis(axis, 3, "sum");
      FAIL() << axis;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::user);
      EXPECT_NE(error.message().find("[sum]"), std::string::npos);
      EXPECT_NE(error.message().find(std::to_string(axis)), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace reprise
