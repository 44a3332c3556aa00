#include "bench/allreduce/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/allreduce/lines.h"

namespace tutti::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kBytes = 64 << 20;

AllreduceSettings two_ranks() {
  AllreduceSettings settings;
  settings.sizes = {kBytes};
  settings.baselines = {"openmpi", "gloo"};
  settings.memory = {"library", "caller"};
  return settings;
}

Outcome example() {
  Outcome outcome;
  outcome.seconds[{"tutti", "library", kBytes}] = {0.008, 0.007, 0.009, 21};
  outcome.seconds[{"tutti", "caller", kBytes}] = {0.064, 0.060, 0.070, 21};
  outcome.seconds[{"openmpi", "caller", kBytes}] = {0.032, 0.031, 0.033, 21};
  outcome.seconds[{"traffic", "caller", kBytes}] = {0.006, 0.006, 0.006, 21};
  return outcome;
}

const Row* find(const std::vector<Row>& rows, const std::string& system, const std::string& metric,
                const std::string& memory) {
  for (const Row& row : rows)
    if (row.system == system && row.metric == metric && row.fields["memory"] == memory) return &row;
  return nullptr;
}

TEST(AllreduceReport, RowsHoldTimeBandwidthRatioAndShare) {
  std::vector<Row> rows = rows_of(two_ranks(), example());
  EXPECT_DOUBLE_EQ(find(rows, "tutti", "time", "library")->value, 8000);
  EXPECT_EQ(find(rows, "tutti", "time", "library")->unit, "us");
  EXPECT_DOUBLE_EQ(find(rows, "tutti", "algorithm_bandwidth", "library")->value,
                   kBytes / 0.008 * 1e-9);
  EXPECT_DOUBLE_EQ(find(rows, "tutti", "ratio", "library")->value, 4);
  EXPECT_EQ(find(rows, "tutti", "ratio", "library")->fields["baseline"], "openmpi");
  EXPECT_EQ(find(rows, "tutti", "ratio", "library")->fields["peer"], "openmpi");  // deprecated name
  EXPECT_DOUBLE_EQ(find(rows, "tutti", "share_of_bound", "library")->value, 75);
  EXPECT_DOUBLE_EQ(find(rows, "traffic", "traffic", "caller")->value, 4 * kBytes / 0.006 * 1e-9);
  EXPECT_EQ(find(rows, "openmpi", "ratio", "caller"), nullptr);
  EXPECT_EQ(find(rows, "gloo", "time", "caller"), nullptr);
}

TEST(AllreduceReport, ListsCasesInWhichBaselinesWinAndFailures) {
  Outcome outcome = example();
  outcome.skipped = {"gloo skipped: not built."};
  outcome.failures = {"at 64MiB: mpich: rank 1 ended"};
  std::string text = text_of(two_ranks(), outcome);
  EXPECT_THAT(text, HasSubstr("caller at 64MiB: openmpi is 2.00x faster"));
  EXPECT_THAT(text, Not(HasSubstr("library at 64MiB: openmpi")));
  EXPECT_THAT(text, HasSubstr("gloo skipped: not built."));
  EXPECT_THAT(text, HasSubstr("FAILED at 64MiB: mpich: rank 1 ended"));
  EXPECT_THAT(text, HasSubstr("75 %"));
}

TEST(AllreduceReport, LinksBoundSeveralHosts) {
  AllreduceSettings settings = two_ranks();
  settings.hosts = 4;
  settings.on_testbed = true;
  // 1.5 x 64 MiB out of every host at 941 Mbit/s.
  EXPECT_NEAR(bound_seconds(settings, {}, kBytes), 1.5 * kBytes * 8 / 0.941e9, 1e-9);
  EXPECT_NEAR(bound_seconds(settings, {}, kBytes), 0.856, 1e-3);
}

TEST(AllreduceReport, AcceptsEmptyResults) {
  EXPECT_TRUE(rows_of(two_ranks(), {}).empty());
  EXPECT_THAT(text_of(two_ranks(), {}), HasSubstr("not measured"));
  EXPECT_THAT(render_svg(chart_of(two_ranks(), {}, {})), HasSubstr("no data"));
}

}  // namespace
}  // namespace tutti::bench
