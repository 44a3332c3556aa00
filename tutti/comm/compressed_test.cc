// Compressed all-reduce over thread-ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tutti/comm/testing.h"
#include "tutti/core/error.h"

namespace tutti::comm {
namespace {

float value_of(int rank, std::size_t i) {
  return std::sin(static_cast<float>(i) * 0.37f + static_cast<float>(rank)) *
         (i % 7 == 0 ? 4.0f : 1.0f);
}

class Compressed : public testing::TestWithParam<std::vector<std::string>> {};
INSTANTIATE_TEST_SUITE_P(Hosts, Compressed,
                         testing::Values(host_names({1}), host_names({3}), host_names({2, 2}),
                                         host_names({2, 2, 2}, true), host_names({1, 2})));

TEST_P(Compressed, ResultsAreAsCloseAsTheFormAllows) {
  run_ranks(GetParam(), [](Communicator& comm) {
    for (const std::size_t count : {0u, 1u, 1000u, 30011u}) {
      for (const auto& [form, tolerance] :
           {std::pair{"bf16", 0.05f}, {"f16", 0.005f}, {"int8", 0.15f}, {"topk:1", 1e-4f}}) {
        for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kAverage}) {
          std::vector<float> input(count), output(count);
          for (std::size_t i = 0; i < count; ++i) input[i] = value_of(comm.rank(), i);
          comm.all_reduce(ConstBuffer::of(std::span<const float>(input)),
                          Buffer::of(std::span(output)), op,
                          {.name = form, .compression = Codec::parse(form)});
          for (std::size_t i = 0; i < count; ++i) {
            float want = 0;
            for (int r = 0; r < comm.size(); ++r) want += value_of(r, i);
            if (op == ReduceOp::kAverage) want /= static_cast<float>(comm.size());
            ASSERT_NEAR(output[i], want, tolerance * static_cast<float>(comm.size()))
                << form << " " << i;
          }
        }
      }
    }
  });
}

TEST(CompressedCalls, LongVectorsGoInChunks) {
  for (const auto& hosts : {host_names({1, 1}), host_names({2, 2})}) {
    run_ranks(hosts, [](Communicator& comm) {
      const std::size_t count = (std::size_t{5} << 20) + 17;
      std::vector<float> values(count);
      for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 61);
      comm.all_reduce(Buffer::of(std::span(values)), ReduceOp::kAverage,
                      {.compression = Codec(Compression::kBF16)});
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(values[i], static_cast<float>(i % 61));
    });
  }
}

// A constant gradient, sent repeatedly: the residual of one step is sent in a later one.
TEST_P(Compressed, ErrorFeedbackConvergesToTheSum) {
  run_ranks(GetParam(), [](Communicator& comm) {
    for (const char* form : {"int8", "topk:0.1"}) {
      constexpr std::size_t kCount = 500;
      constexpr int kSteps = 60;
      std::vector<double> received(kCount, 0);
      for (int step = 0; step < kSteps; ++step) {
        std::vector<float> values(kCount);
        for (std::size_t i = 0; i < kCount; ++i) values[i] = value_of(comm.rank(), i);
        comm.all_reduce_async(Buffer::of(std::span(values)), Buffer::of(std::span(values)),
                              ReduceOp::kSum,
                              {.name = "gradient", .compression = Codec::parse(form)})
            .wait();
        for (std::size_t i = 0; i < kCount; ++i) received[i] += values[i];
      }
      for (std::size_t i = 0; i < kCount; ++i) {
        double want = 0;
        for (int r = 0; r < comm.size(); ++r) want += value_of(r, i);
        // The residual of each rank is at most a few of its values.
        ASSERT_NEAR(received[i] / kSteps, want, 1.2 * comm.size() * 30 / kSteps)
            << form << " " << i;
      }
    }
  });
}

// After matching calls, because the first mismatch would be detected during set-up.
TEST(CompressedCalls, RanksThatCompressDifferentlyAreReported) {
  for (const char* other : {"none", "f16"}) {
    run_ranks(host_names({1, 1, 1}), [other](Communicator& comm) {
      std::vector<float> values(5000, 1);
      const auto reduce = [&](const std::string& form) {
        comm.all_reduce(Buffer::of(std::span(values)), ReduceOp::kSum,
                        {.name = "gradient", .compression = Codec::parse(form)});
      };
      reduce("bf16");
      try {
        reduce(comm.rank() == 1 ? other : "bf16");
        FAIL() << "the ranks do not agree";
      } catch (const CommError& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("DDL-4-02")) << other;
        if (std::string(other) == "none") {
          EXPECT_THAT(error.what(), testing::HasSubstr("'gradient as bf16'"));
        }
      }
    });
  }
}

TEST(CompressedCalls, OnlySumsOfF32) {
  run_ranks(host_names({2}), [](Communicator& comm) {
    std::vector<double> values(10);
    const CallOptions call{.compression = Codec(Compression::kInt8)};
    EXPECT_THROW(comm.all_reduce(Buffer::of(std::span(values)), ReduceOp::kSum, call), ConfigError);
    std::vector<float> floats(10);
    EXPECT_THROW(comm.all_reduce(Buffer::of(std::span(floats)), ReduceOp::kMax, call), ConfigError);
  });
}

}  // namespace
}  // namespace tutti::comm
