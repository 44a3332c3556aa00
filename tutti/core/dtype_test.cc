#include "tutti/core/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tutti/core/error.h"

namespace tutti {
namespace {

TEST(DType, NamesRoundTrip) {
  for (int i = 0; i < kDTypeCount; ++i) {
    EXPECT_EQ(parse_dtype(name_of(static_cast<DType>(i))), static_cast<DType>(i));
  }
  for (int i = 0; i < kReduceOpCount; ++i) {
    EXPECT_EQ(parse_reduce_op(name_of(static_cast<ReduceOp>(i))), static_cast<ReduceOp>(i));
  }
  EXPECT_THROW(parse_dtype("f8"), ConfigError);
}

TEST(DType, EveryHalfRoundTripsThroughFloat) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float value = to_float(Half{static_cast<std::uint16_t>(bits)});
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(to_float(to_half(value))));
    } else {
      EXPECT_EQ(to_half(value).bits, bits);
    }
  }
}

TEST(DType, HalfRoundsToNearestEven) {
  EXPECT_EQ(to_half(1.0f).bits, 0x3c00);
  EXPECT_EQ(to_half(1.0f + 0x1p-11f).bits, 0x3c00);
  EXPECT_EQ(to_half(1.0f + 3 * 0x1p-11f).bits, 0x3c02);
  EXPECT_EQ(to_half(65519.0f).bits, 0x7bff);
  EXPECT_EQ(to_half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_half(0x1p-24f).bits, 0x0001);
  EXPECT_EQ(to_half(0x1p-26f).bits, 0x0000);
}

TEST(DType, EveryBFloat16RoundTripsThroughFloat) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float value = to_float(BFloat16{static_cast<std::uint16_t>(bits)});
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(to_float(to_bfloat16(value))));
    } else {
      EXPECT_EQ(to_bfloat16(value).bits, bits);
    }
  }
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
}

}  // namespace
}  // namespace tutti
