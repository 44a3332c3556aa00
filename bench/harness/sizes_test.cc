#include "bench/harness/sizes.h"

#include <gtest/gtest.h>

#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

using Sizes = std::vector<std::int64_t>;

TEST(Sizes, RangeGoesByFourAndHoldsBothEnds) {
  EXPECT_EQ(parse_sizes("1KiB..64KiB"), (Sizes{1024, 4096, 16384, 65536}));
  EXPECT_EQ(parse_sizes("1KiB..256MiB").size(), 10u);
  EXPECT_EQ(parse_sizes("1KiB..8KiB"), (Sizes{1024, 4096, 8192}));
  EXPECT_EQ(parse_sizes("4KiB..4KiB"), (Sizes{4096}));
}

TEST(Sizes, StepIsSettable) {
  EXPECT_EQ(parse_sizes("1KiB..8KiBx2"), (Sizes{1024, 2048, 4096, 8192}));
  EXPECT_EQ(parse_sizes("1KiB..1MiBx32"), (Sizes{1024, 32768, 1 << 20}));
}

TEST(Sizes, ListsAreSortedAndUnique) {
  EXPECT_EQ(parse_sizes("4KiB,1KiB,4KiB"), (Sizes{1024, 4096}));
  EXPECT_EQ(parse_sizes("1KiB..4KiB,64"), (Sizes{64, 1024, 4096}));
}

TEST(Sizes, InvalidSizesAreRejected) {
  for (const char* text : {"", "1KiB..", "..1KiB", "4KiB..1KiB", "0..1KiB", "1KiB,,4KiB",
                           "1KiB..8KiBx1", "1KiB..8KiBx", "1KiBxx2", "6", "0", "many"})
    EXPECT_THROW(parse_sizes(text), ConfigError) << text;
}

TEST(Sizes, HugeRangeEnds) {
  EXPECT_EQ(parse_sizes("4..8000000000000000000x1000000000").size(), 4u);
}

}  // namespace
}  // namespace tutti::bench
