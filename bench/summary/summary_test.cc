#include "bench/summary/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

nlohmann::ordered_json example() {
  return nlohmann::ordered_json::parse(R"([
    {"bench": "allreduce", "system": "tutti", "metric": "time", "value": 3, "ranks": 2, "bytes": 1024},
    {"bench": "allreduce", "system": "tutti", "metric": "ratio", "value": 1.5, "ranks": 2, "bytes": 1024,
     "memory": "library", "baseline": "gloo", "peer": "gloo", "low": 1},
    {"bench": "allreduce", "system": "tutti", "metric": "ratio", "value": 0.5, "ranks": 2, "bytes": 4194304,
     "memory": "library", "baseline": "gloo"},
    {"bench": "glm", "system": "tutti", "metric": "ratio", "value": 15, "case": "clicks", "rows": 4, "peer": "saga"}
  ])");
}

TEST(Summary, NamesCasesByTheFieldsThatDiffer) {
  const auto comparisons = comparisons_of(example());
  ASSERT_EQ(comparisons.size(), 3u);
  EXPECT_EQ(comparisons[0].name, "1KiB");
  EXPECT_EQ(comparisons[1].name, "4MiB");
  EXPECT_EQ(comparisons[2].name, "clicks");
  EXPECT_EQ(comparisons[2].baseline, "saga");  // deprecated name of the field
  EXPECT_EQ(comparisons[2].ratio, 15);
}

TEST(Summary, NamesTheMappingOnceIfBothOfItsNamesAreWritten) {
  auto rows = example();
  for (auto& row : rows) row["map_by"] = row["deal"] = "node";
  rows[1]["map_by"] = rows[1]["deal"] = "slot";
  EXPECT_EQ(comparisons_of(rows)[0].name, "1KiB, slot");
  for (auto& row : rows) row.erase("map_by");  // written by an older version
  EXPECT_EQ(comparisons_of(rows)[0].name, "1KiB, slot");
}

TEST(Summary, NamesTheVariantOnceIfBothOfItsNamesAreWritten) {
  auto rows = example();
  for (auto& row : rows) row["variant"] = row["way"] = "sync";
  rows[1]["variant"] = rows[1]["way"] = "bf16";
  EXPECT_EQ(comparisons_of(rows)[0].name, "1KiB, bf16");
}

TEST(Summary, ListsCasesInWhichABaselineWins) {
  auto comparisons = comparisons_of(example());
  EXPECT_THAT(text_of(comparisons), HasSubstr("allreduce: 4MiB: gloo is 2.00 times as fast"));
  comparisons.erase(comparisons.begin() + 1);
  EXPECT_THAT(text_of(comparisons), HasSubstr("No baseline is faster"));
}

TEST(Summary, DrawsAGroupForEveryBenchmark) {
  const plot::BarChart chart = chart_of(comparisons_of(example()), "a machine");
  ASSERT_EQ(chart.groups.size(), 2u);
  EXPECT_EQ(chart.groups[0].bars.size(), 2u);
  EXPECT_THAT(render_svg(chart), HasSubstr("clicks / saga"));
}

TEST(Summary, IgnoresOtherRows) {
  EXPECT_TRUE(
      comparisons_of(nlohmann::ordered_json::parse(R"([{"metric": "ratio", "value": 2}, 7, {}])"))
          .empty());
}

}  // namespace
}  // namespace tutti::bench
