#include "tutti/core/rounded_bytes.h"

#include <gtest/gtest.h>

#include "tutti/core/bytes.h"

namespace tutti {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

TEST(RoundedBytes, HaveThreeDigitsAndABinaryUnit) {
  EXPECT_EQ(rounded_bytes(999), "999 B");
  EXPECT_EQ(rounded_bytes(3 * kMiB / 2), "1.50 MiB");
  EXPECT_EQ(rounded_bytes(12 * kMiB), "12.0 MiB");
  EXPECT_EQ(rounded_bytes(512 * kMiB), "512 MiB");
  EXPECT_EQ(rounded_bytes(1023 * kMiB), "1.00 GiB");
}

TEST(RoundedBytes, RoundedUpTheyCanBeParsed) {
  EXPECT_EQ(rounded_up_bytes(9 * kMiB + 1), "10MiB");
  EXPECT_EQ(parse_bytes(rounded_up_bytes(9 * kMiB)), 9 * kMiB);
  EXPECT_EQ(rounded_up_bytes(1000), "1000");
}

}  // namespace
}  // namespace tutti
