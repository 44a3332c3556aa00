#include "tutti/comm/observe/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/comm/testing.h"

namespace tutti::comm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Observation observation_of(plan::Collective collective, double seconds) {
  Observation observation;
  observation.record.collective = collective;
  observation.seconds = seconds;
  observation.bytes = 1024;
  observation.times.nanoseconds[1] = static_cast<std::int64_t>(seconds * 1e9);
  observation.algorithm = "direct x ring";
  return observation;
}

// Three ranks that waited 1x, 5x and 2x as long as this one did.
Result gather_three(std::span<const double> mine, std::span<double> all) {
  const double factors[] = {1, 5, 2};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = mine[i % mine.size()] * factors[i / mine.size()];
  }
  return Result::ok();
}

TEST(Statistics, TheRankThatWaitsLeastWasLast) {
  std::vector<Summary> summaries;
  Statistics statistics(2, 3, 2, gather_three, [&](const Summary& s) { summaries.push_back(s); });
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(statistics.note(observation_of(plan::Collective::kAllReduce, i < 2 ? 1e-3 : 2e-3)));
  }
  ASSERT_EQ(summaries.size(), 2u);
  const Summary& summary = summaries[0];
  EXPECT_EQ(summary.operations, 2u);
  EXPECT_EQ(summary.bytes, 2048);
  EXPECT_EQ(summary.last_rank, 0);
  EXPECT_DOUBLE_EQ(summary.lateness, 4e-3);
  EXPECT_DOUBLE_EQ(summary.mean, 8e-3 / 3);
  EXPECT_DOUBLE_EQ(summary.longest, 5e-3);
  EXPECT_DOUBLE_EQ(summary.dimensions[1], 8e-3 / 3);
  EXPECT_DOUBLE_EQ(summaries[1].lateness, 8e-3) << "each summary begins again";
}

TEST(Statistics, NoRankIsLateIfNotAllWait) {
  std::vector<Summary> summaries;
  Statistics statistics(1, 3, 2, gather_three, [&](const Summary& s) { summaries.push_back(s); });
  ASSERT_TRUE(statistics.note(observation_of(plan::Collective::kBroadcast, 1e-3)));
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].last_rank, -1);
}

TEST(Statistics, FailureOfTheExchangeIsPassedOn) {
  Statistics statistics(
      1, 3, 2,
      [](auto, auto) { return Result::failure(ErrorKind::kComm, "DDL-4-04", "rank 1 is dead"); },
      [](const Summary&) { FAIL() << "there is nothing to report"; });
  EXPECT_FALSE(statistics.note(observation_of(plan::Collective::kBarrier, 1e-3)));
}

std::string output_of(const std::vector<int>& hosts, const std::string& options) {
  testing::internal::CaptureStderr();
  run_ranks(
      host_names(hosts),
      [](Communicator& communicator) {
        std::vector<float> values(1000, 1);
        for (int i = 0; i < 7; ++i) communicator.all_reduce(Buffer::of(std::span(values)));
        communicator.barrier();
        EXPECT_EQ(communicator.split(0)->size(), communicator.size());
        float one = 1;
        communicator.all_reduce_async({&one, 1, DType::kF32}, {&one, 1, DType::kF32}).wait();
      },
      test_options(options));
  return testing::internal::GetCapturedStderr();
}

TEST(DumpIter, ReportsOnceAfterNOperations) {
  for (const auto& hosts : {std::vector<int>{3}, {2, 1}, {2, 2}}) {
    const std::string text = output_of(hosts, "-dump_iter 5");
    EXPECT_THAT(text, HasSubstr("5 operations, 0.02 MB: mean"));
    EXPECT_THAT(text, HasSubstr(" us after the first"));
    EXPECT_THAT(text, HasSubstr("accelerator"));
    const bool has_network = hosts.size() > 1;
    EXPECT_EQ(text.find(" node ") != std::string::npos, has_network) << text;
    // 7 all_reduce, barrier, split's all_gather, asynchronous all_reduce: twice five.
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  }
}

TEST(DumpIter, OneRankIsNeverLate) {
  EXPECT_THAT(output_of({1}, "-dump_iter 10"), HasSubstr("no operation waited for all ranks"));
}

TEST(DumpIter, CompressedOperationsCountToo) {
  testing::internal::CaptureStderr();
  run_ranks(
      host_names({2, 2}),
      [](Communicator& communicator) {
        std::vector<float> values(1000, 1);
        for (int i = 0; i < 4; ++i) {
          communicator.all_reduce(Buffer::of(std::span(values)), ReduceOp::kAverage,
                                  {.name = "w", .compression = Codec(Compression::kInt8)});
        }
      },
      test_options("-dump_iter 6"));
  // The first one splits the ranks into hosts and rails: two all_gathers more.
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("6 operations"), HasSubstr("compressed 4x")));
}

TEST(DumpIter, SilentWhenDisabled) {
  EXPECT_EQ(output_of({2, 1}, ""), "");
}

TEST(DebugLevel, LevelTwoLogsEveryOperation) {
  const std::string text = output_of({2}, "-dbg_level 2");
  EXPECT_THAT(text, HasSubstr("barrier #8"));
  EXPECT_THAT(text, HasSubstr("all_reduce #1 (1000 x f32, sum)"));
}

}  // namespace
}  // namespace tutti::comm
