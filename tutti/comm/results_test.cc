// Correctness and reproducibility of results: options `reproducible` and `check`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <mutex>
#include <random>

#include "tutti/comm/execution/self_check.h"
#include "tutti/comm/testing.h"
#include "tutti/core/error.h"

namespace tutti::comm {
namespace {

using testing::HasSubstr;

std::vector<float> random_values(int rank, std::int64_t count) {
  std::mt19937 generator(static_cast<unsigned>(rank));
  std::uniform_real_distribution<float> any(-1, 1);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values)
    value = any(generator) * std::exp2(static_cast<float>(generator() % 20));
  return values;
}

// The sum over six ranks, reduced in pieces of `piece` elements, in library memory or not.
std::vector<float> sum_of_six(const std::vector<std::string>& hosts, const std::string& mode,
                              std::int64_t piece, bool in_library) {
  constexpr std::int64_t kCount = 30011;
  std::vector<float> result;
  std::mutex mutex;
  run_ranks(
      hosts,
      [&](Communicator& comm) {
        std::vector<float> values = random_values(comm.rank(), kCount);
        auto* memory = in_library ? static_cast<float*>(comm.allocate(kCount * 4)) : values.data();
        if (in_library) std::memcpy(memory, values.data(), kCount * 4);
        for (std::int64_t begin = 0; begin < kCount; begin += piece) {
          comm.all_reduce(Buffer{memory + begin, std::min(piece, kCount - begin), DType::kF32});
        }
        const std::vector<float> mine(memory, memory + kCount);
        if (in_library) comm.free(memory);
        const std::lock_guard lock(mutex);
        if (result.empty()) result = mine;
        EXPECT_EQ(std::memcmp(result.data(), mine.data(), kCount * 4), 0) << "ranks differ";
      },
      test_options("-reproducible 1 " + mode));
  return result;
}

TEST(Reproducible, ResultsDoNotDependOnTheLayout) {
  const auto reference = sum_of_six(host_names({6}), "", 30011, true);
  const struct {
    std::vector<std::string> hosts;
    const char* mode;
    std::int64_t piece;
    bool in_library;
  } cases[] = {{host_names({6}), "", 100, true},
               {host_names({6}), "", 5000, false},
               {host_names({6}), "-mode r:6", 30011, false},
               {host_names({6}), "-mode c:6", 977, true},
               {host_names({6}), "-mode b:3x2", 30011, true},
               {host_names({3, 3}), "", 30011, true},
               {host_names({3, 3}), "", 50, false},
               {host_names({2, 2, 2}, true), "", 10000, true},
               {host_names({2, 2, 2}), "-mode r:2x3", 10000, false},
               {host_names({1, 3, 2}), "", 30011, false},
               {host_names({1, 1, 1, 1, 1, 1}), "", 4000, false}};
  for (const auto& c : cases) {
    const auto result = sum_of_six(c.hosts, c.mode, c.piece, c.in_library);
    EXPECT_EQ(std::memcmp(result.data(), reference.data(), reference.size() * 4), 0)
        << c.mode << " piece " << c.piece << " hosts " << c.hosts.back();
  }
}

TEST(Check, RightResultsPass) {
  for (const auto& hosts : {host_names({3}), host_names({2, 2})}) {
    run_ranks(
        hosts,
        [](Communicator& comm) {
          std::vector<float> values = random_values(comm.rank(), 100003);
          comm.all_reduce(Buffer::of(std::span(values)), ReduceOp::kAverage, {.name = "values"});
          std::vector<float> piece(10);
          const auto input =
              std::span<const float>(values).first(static_cast<std::size_t>(10 * comm.size()));
          comm.reduce_scatter(ConstBuffer::of(input), Buffer::of(std::span(piece)));
          comm.reduce(ConstBuffer::of(input),
                      comm.rank() == 1
                          ? Buffer{values.data() + 5000, std::ssize(input), DType::kF32}
                          : Buffer{},
                      ReduceOp::kMax, 1);
        },
        test_options("-check 1"));
  }
}

TEST(Check, NanIsTracedToItsRank) {
  testing::internal::CaptureStderr();
  run_ranks(
      host_names({3}),
      [](Communicator& comm) {
        std::vector<float> values(1000, 1);
        if (comm.rank() == 2) values[77] = std::numeric_limits<float>::quiet_NaN();
        comm.all_reduce(Buffer::of(std::span(values)), ReduceOp::kSum, {.name = "loss"});
      },
      test_options("-check 1"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("DDL-4-10 rank 2 on host0 passed NaN or Inf to all_reduce 'loss', first "
                        "at element 77"));
}

TEST(Check, RepeatedNonFiniteResultsAreReportedAtPowersOfTwo) {
  testing::internal::CaptureStderr();
  run_ranks(
      host_names({2}),
      [](Communicator& comm) {
        std::vector<float> values(10, std::numeric_limits<float>::infinity());
        for (int i = 0; i < 100; ++i) comm.all_reduce(Buffer::of(std::span(values)));
      },
      test_options("-check 1"));
  const std::string captured = testing::internal::GetCapturedStderr();
  // Operations 1, 2, 3, 4, 8, 16, 32 and 64; both ranks report both.
  const auto lines = std::count(captured.begin(), captured.end(), '\n');
  EXPECT_EQ(lines, 8 * 2 * 2) << captured;
  EXPECT_THAT(captured, HasSubstr("64 operations were affected so far"));
}

TEST(Check, AWrongResultIsNamed) {
  const topo::Layout layout{{{"host0", {0}}}};
  // A communicator of one rank whose all_reduce is broken in one element.
  SelfCheck check(0, 1, layout, [](const Operation& operation) {
    const std::size_t count = operation.counts.empty()
                                  ? static_cast<std::size_t>(operation.count)
                                  : static_cast<std::size_t>(operation.counts[0]);
    std::memcpy(operation.output, operation.input, count * size_of(operation.dtype));
    if (operation.collective == plan::Collective::kAllReduce) {
      static_cast<float*>(operation.output)[5] += 1;
    }
    return Result::ok();
  });
  std::vector<float> input(10, 3), output(10);
  Operation operation;
  operation.input = input.data();
  operation.output = output.data();
  operation.count = 10;
  operation.name = "weights";
  const Result outcome = check.perform(operation);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.code(), "DDL-4-09");
  EXPECT_THAT(outcome.message(), HasSubstr("element 5 of 'weights' (f32) is 4 on rank 0"));
}

}  // namespace
}  // namespace tutti::comm
