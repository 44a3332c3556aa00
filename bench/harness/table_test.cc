#include "bench/harness/table.h"

#include <gtest/gtest.h>

#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

TEST(Table, TextIsLeftAlignedNumbersRight) {
  Table table({"bytes", "system", "time"});
  table.add({"1KiB", "tutti", "0.29 us"});
  table.add({"", "openmpi", "12 us"});
  table.add_gap();
  table.add({"4KiB", "tutti"});
  EXPECT_EQ(table.text(),
            "bytes  system      time\n"
            "1KiB   tutti    0.29 us\n"
            "       openmpi    12 us\n"
            "\n"
            "4KiB   tutti\n");
}

TEST(Table, TooManyCells) {
  Table table({"one"});
  EXPECT_THROW(table.add({"1", "2"}), ConfigError);
}

TEST(Table, ThreeDigits) {
  EXPECT_EQ(format_digits(0.2914), "0.291");
  EXPECT_EQ(format_digits(12.34), "12.3");
  EXPECT_EQ(format_digits(1234.4), "1234");
  EXPECT_EQ(format_digits(0), "0");
}

TEST(Table, SecondsTakeTheUnitThatFits) {
  EXPECT_EQ(format_seconds(2.9e-7), "0.290 us");
  EXPECT_EQ(format_seconds(1.4e-3), "1.40 ms");
  EXPECT_EQ(format_seconds(1.79), "1.79 s");
}

}  // namespace
}  // namespace tutti::bench
