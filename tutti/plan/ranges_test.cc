#include "tutti/plan/ranges.h"

#include <gtest/gtest.h>

namespace tutti::plan {
namespace {

TEST(Cut, CoversTheRangeInOrderWithoutSharedCacheLines) {
  for (const std::int64_t count : {0, 1, 3, 17, 1000, 123457}) {
    for (const int parts : {1, 2, 3, 7, 16, 100}) {
      for (const std::size_t bytes : {1, 2, 4, 8}) {
        const Range range{Space::kInput, 64, count};
        std::int64_t next = range.begin, least = count, most = 0;
        for (int i = 0; i < parts; ++i) {
          const Range piece = split(range, parts, i, bytes);
          ASSERT_EQ(piece.space, Space::kInput);
          ASSERT_EQ(piece.begin, next);
          ASSERT_GE(piece.count, 0);
          const auto offset = static_cast<std::size_t>(piece.begin - range.begin) * bytes;
          ASSERT_TRUE(offset % 64 == 0 || piece.count == 0) << count << " in " << parts;
          next += piece.count;
          least = std::min(least, piece.count);
          most = std::max(most, piece.count);
        }
        ASSERT_EQ(next, range.begin + count);
        ASSERT_LE(static_cast<std::size_t>(most - least) * bytes, 128U);
      }
    }
  }
}

TEST(Cut, TakesElementsAsTheyAreWhenTheyDoNotFitACacheLine) {
  EXPECT_EQ(split({Space::kInput, 0, 9}, 3, 1, 12).begin, 3);
  EXPECT_EQ(split({Space::kInput, 0, 9}, 3, 1, 12).count, 3);
}

TEST(Cut, HoldsForMoreThanFourBillionElements) {
  const Range all{Space::kInput, 0, std::int64_t{1} << 40};
  EXPECT_EQ(split(all, 1 << 15, (1 << 15) - 1, 1).begin, (std::int64_t{1} << 40) - (1 << 25));
}

TEST(Pieces, MergesAdjacentRanges) {
  Pieces pieces;
  for (const Range& range : {Range{Space::kOutput, 0, 4}, Range{Space::kOutput, 4, 2},
                             Range{Space::kOutput, 6, 0}, Range{Space::kOutput, 9, 1}}) {
    pieces.add_piece();
    pieces.append(range);
  }
  EXPECT_EQ(pieces.size(), 4);
  EXPECT_EQ(pieces.count(2), 0);
  ASSERT_EQ(pieces.runs(0, 4).size(), 2U);
  EXPECT_EQ(pieces.runs(0, 4)[0].count, 6);
  EXPECT_EQ(pieces.runs(0, 4)[1].begin, 9);
  EXPECT_TRUE(pieces.runs(2, 3).empty());
  EXPECT_EQ(pieces.only(1).begin, 4);
}

}  // namespace
}  // namespace tutti::plan
