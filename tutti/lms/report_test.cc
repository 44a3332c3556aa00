#include "tutti/lms/report.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tutti/core/error.h"
#include "tutti/lms/extrapolate.h"
#include "tutti/lms/planner.h"
#include "tutti/lms/test_traces.h"

namespace tutti::lms {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr std::int64_t kReportMiB = 1 << 20;

Report report_of(const Trace& trace, std::int64_t budget, double bandwidth) {
  PlannerOptions options;
  options.budget = budget;
  options.tier = {.write_bandwidth = bandwidth, .read_bandwidth = bandwidth};
  return make_report(trace, make_plan(trace, options), options);
}

TEST(ReportTest, NamesTheMemoryThatRemovesTheOverhead) {
  const Trace trace = chain_trace(64, kReportMiB, 0.01);
  const Report slow = report_of(trace, 16 * kReportMiB, 25.0 * kReportMiB);
  ASSERT_GT(slow.overhead(), 0.05);
  EXPECT_THAT(advice(slow)[0], HasSubstr("Disk-bound by "));
  EXPECT_THAT(advice(slow)[0], HasSubstr(" MiB more memory would remove it"));
  const Report enough = report_of(trace, 16 * kReportMiB + slow.more_memory, 25.0 * kReportMiB);
  EXPECT_LE(enough.overhead(), 0.011);
  const Report fast = report_of(trace, 16 * kReportMiB, 25.0 * kReportMiB * slow.more_bandwidth);
  EXPECT_LE(fast.overhead(), 0.011);
}

TEST(ReportTest, TextsOfOtherCases) {
  const Trace trace = chain_trace(16, kReportMiB, 0.01);
  EXPECT_THAT(advice(report_of(trace, 100 * kReportMiB, 1e9))[0], HasSubstr("Everything fits"));
  EXPECT_THAT(advice(report_of(trace, 8 * kReportMiB, 1e9)),
              Contains(HasSubstr("All transfers overlap")));
  PlannerOptions options;
  options.budget = 2 * kReportMiB;
  const Report small = make_report(trace, {}, options);
  EXPECT_THAT(advice(small)[0], HasSubstr("too small"));
  EXPECT_THAT(advice(small)[0], HasSubstr("Use at least 4MiB"));
}

TEST(ReportTest, JsonAndPlotAreComplete) {
  const Trace trace = chain_trace(16, kReportMiB, 0.01);
  const Report report = report_of(trace, 8 * kReportMiB, 1e9);
  const auto json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["budget"], 8 * kReportMiB);
  EXPECT_EQ(json["peak"].get<std::int64_t>(), report.predicted.peak);
  EXPECT_EQ(json["minimum_operator"], "conv_backward");
  EXPECT_FALSE(json["resident"].empty());
  const std::string svg = to_svg(report, "chain");
  EXPECT_THAT(svg, HasSubstr("without LMS"));
  EXPECT_THAT(svg, HasSubstr("budget"));
  EXPECT_THAT(to_text(report), HasSubstr("peak with LMS"));
}

TEST(TraceModelTest, IsExactForAffineSizes) {
  const TraceModel model(chain_trace(8, 2000, 0.02), 2, chain_trace(8, 3000, 0.03), 3);
  const Trace predicted = model.at(10), real = chain_trace(8, 10'000, 0.1);
  EXPECT_EQ(peak_bytes(predicted), peak_bytes(real));
  EXPECT_EQ(minimum_budget(predicted, {}).bytes, minimum_budget(real, {}).bytes);
  EXPECT_NEAR(predicted.duration, real.duration, 1e-9);
  // The minimum is four blocks, the peak without LMS ten.
  EXPECT_EQ(model.largest_size(400'000, {}, true), 100);
  EXPECT_EQ(model.largest_size(400'000, {}, false), 40);
  EXPECT_EQ(model.largest_size(10, {}, true), 0);
}

// Blocks are recorded in whole pages.
TEST(TraceModelTest, PredictsNoLessThanRoundedSizes) {
  const auto recorded = [](double size) {
    const auto pages = static_cast<std::int64_t>(std::ceil(size * 1500 / 4096));
    return chain_trace(8, pages * 4096, 0.01 * size);
  };
  for (const double size : {41.0, 57.0, 100.0}) {
    const Trace predicted = TraceModel(recorded(23), 23, recorded(40), 40).at(size);
    for (std::size_t block = 0; block < predicted.blocks.size(); ++block)
      EXPECT_GE(predicted.blocks[block].bytes, recorded(size).blocks[block].bytes) << size;
  }
}

// An operator whose workspace is one block in the small step and two blocks at a time in the large one.
TEST(TraceModelTest, MergesWorkspaceThatDiffers) {
  const auto with_workspace = [](Trace trace, const std::vector<std::int64_t>& pieces) {
    const int first = static_cast<int>(trace.blocks.size());
    for (const std::int64_t bytes : pieces) trace.blocks.push_back({.bytes = bytes});
    auto& events = trace.operators.back().events;
    for (int i = 0; i < static_cast<int>(pieces.size()); ++i)
      events.push_back({EventKind::kAllocate, first + i});
    for (int i = 0; i < static_cast<int>(pieces.size()); ++i)
      events.push_back({EventKind::kFree, first + i});
    validate(trace);
    return trace;
  };
  const Trace plain = chain_trace(8, 10'000, 0.1);
  const std::int64_t workspace = 5 * peak_bytes(plain);  // of the size to predict
  const TraceModel model(with_workspace(chain_trace(8, 2000, 0.02), {100}), 2,
                         with_workspace(chain_trace(8, 4000, 0.04), {workspace / 5, workspace / 5}),
                         4);
  const Trace predicted = model.at(10);
  validate(predicted);
  EXPECT_EQ(predicted.operators.size(), plain.operators.size());
  EXPECT_EQ(peak_bytes(predicted), peak_bytes(with_workspace(plain, {workspace})));
  EXPECT_EQ(minimum_budget(predicted, {}).op, static_cast<int>(plain.operators.size()) - 1);
}

TEST(TraceModelTest, RejectsDifferentSteps) {
  EXPECT_THROW(TraceModel(chain_trace(8, 10, 1), 1, chain_trace(9, 10, 1), 2), ConfigError);
  EXPECT_THROW(TraceModel(chain_trace(8, 10, 1), 2, chain_trace(8, 10, 1), 2), ConfigError);
  Trace other = chain_trace(8, 10, 1);
  other.operators[3].name = "im2col";
  EXPECT_THROW(TraceModel(chain_trace(8, 10, 1), 1, other, 2), ConfigError);
}

}  // namespace
}  // namespace tutti::lms
