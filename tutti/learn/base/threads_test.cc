#include "tutti/learn/base/threads.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace tutti::learn {
namespace {

class ThreadCounts : public testing::TestWithParam<int> {};

TEST_P(ThreadCounts, EveryPartRunsOnce) {
  Threads threads(GetParam());
  EXPECT_EQ(threads.count(), GetParam());
  for (const std::int64_t parts : {0, 1, 2, 7, 1000}) {
    std::vector<int> seen(parts);
    threads.run(parts, [&](std::int64_t part) { ++seen[part]; });
    EXPECT_EQ(seen, std::vector<int>(parts, 1));
  }
  std::vector<int> seen(103);
  threads.for_range(103, 10, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) ++seen[i];
  });
  EXPECT_EQ(seen, std::vector<int>(103, 1));
}

TEST_P(ThreadCounts, RethrowsTheExceptionOfAPart) {
  Threads threads(GetParam());
  EXPECT_THROW(threads.run(50,
                           [](std::int64_t part) {
                             if (part == 31) throw std::out_of_range("31");
                           }),
               std::out_of_range);
  int count = 0;
  threads.run(1, [&](std::int64_t) { ++count; });
  EXPECT_EQ(count, 1);
}
INSTANTIATE_TEST_SUITE_P(Counts, ThreadCounts, testing::Values(1, 2, 5));

}  // namespace
}  // namespace tutti::learn
