#include "tutti/fusion/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <latch>
#include <numeric>
#include <random>
#include <sstream>

#include "tutti/comm/testing.h"
#include "tutti/comm/transport/shm/arena.h"
#include "tutti/core/error.h"
#include "tutti/fusion/gradient_buckets.h"

namespace tutti::fusion {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using Values = std::vector<float>;

Options fusion(const std::vector<std::pair<std::string, std::string>>& changes = {}) {
  Options options(fusion_options());
  for (const auto& [name, value] : changes) options.set(name, value);
  return options;
}

void run_engines(const std::vector<int>& ranks_per_host, const std::function<void(Engine&)>& body,
                 const Options& options = fusion(), const std::string& comm_options = "") {
  comm::run_ranks(
      comm::host_names(ranks_per_host),
      [&](comm::Communicator& communicator) {
        Engine engine(communicator, options);
        body(engine);
      },
      comm::test_options(comm_options));
}

Call reduce(const std::string& name, Values& values, ReduceOp op = ReduceOp::kSum) {
  const Buffer buffer = Buffer::of(std::span(values));
  return {.name = name, .tensors = {{buffer, buffer}}, .op = op};
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class EngineOf : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, EngineOf, testing::Values(1, 2, 3, 7));

// Each rank submits its tensors in a different order, some while others are in flight.
TEST_P(EngineOf, AnyOrderOfSubmissionGivesTheSums) {
  const int size = GetParam();
  run_engines({size}, [&](Engine& engine) {
    std::mt19937 random(static_cast<unsigned>(engine.rank()));
    std::vector<int> order(30);
    std::iota(order.begin(), order.end(), 0);
    for (int step = 0; step < 4; ++step) {
      std::shuffle(order.begin(), order.end(), random);
      std::vector<Values> tensors;
      for (int t = 0; t < 30; ++t)
        tensors.emplace_back(static_cast<std::size_t>(t * 17 % 40),
                             static_cast<float>(engine.rank() + t));
      std::vector<comm::Work> works;
      for (const int t : order)
        works.push_back(engine.submit(reduce("t" + std::to_string(t), tensors[t])).work);
      for (const comm::Work& work : works) work.wait();
      for (int t = 0; t < 30; ++t)
        ASSERT_THAT(tensors[t], Each(static_cast<float>(size * (size - 1) / 2 + size * t)));
    }
    EXPECT_EQ(engine.statistics().tensors, 120);
    EXPECT_LE(engine.statistics().buckets, 120);
  });
}

TEST_P(EngineOf, EveryKindAtOnce) {
  const int size = GetParam();
  run_engines({size}, [&](Engine& engine) {
    const int rank = engine.rank();
    const auto rows = static_cast<std::size_t>(rank);  // rank 0 contributes none
    Values summed(5, 1), sent(3, static_cast<float>(rank)), own(2 * rows, static_cast<float>(rank));
    const ConstBuffer mine = ConstBuffer::of(std::span<const float>(own));
    const Ticket gathered = engine.submit({.name = "gather",
                                           .kind = Kind::kAllGather,
                                           .tensors = {{mine, {}}},
                                           .rows = {rank},
                                           .row_elements = {2}});
    const comm::Work reduced = engine.submit(reduce("sum", summed)).work;
    const Buffer everywhere = Buffer::of(std::span(sent));
    const comm::Work broadcast = engine
                                     .submit({.name = "broadcast",
                                              .kind = Kind::kBroadcast,
                                              .tensors = {{everywhere, everywhere}},
                                              .root = size - 1})
                                     .work;
    // One row to each rank, two to the last.
    Values parcels(static_cast<std::size_t>(size + 1), static_cast<float>(rank));
    std::vector<std::int64_t> splits(static_cast<std::size_t>(size), 1);
    splits.back() = 2;
    const Ticket swapped =
        engine.submit({.name = "swap",
                       .kind = Kind::kAllToAll,
                       .tensors = {{ConstBuffer::of(std::span<const float>(parcels)), {}}},
                       .rows = splits,
                       .row_elements = {1}});
    Values whole(static_cast<std::size_t>(2 * size + 1), 1);
    Values part(static_cast<std::size_t>(rows_of_rank(2 * size + 1, rank, size)));
    const comm::Work scattered =
        engine
            .submit({.name = "scatter",
                     .kind = Kind::kReduceScatter,
                     .tensors = {{ConstBuffer::of(std::span<const float>(whole)),
                                  Buffer::of(std::span(part))}},
                     .rows = {2 * size + 1},
                     .row_elements = {1}})
            .work;
    const comm::Work barrier = engine.submit({.name = "barrier", .kind = Kind::kBarrier}).work;
    for (const comm::Work& work :
         {gathered.work, reduced, broadcast, swapped.work, scattered, barrier})
      work.wait();
    EXPECT_THAT(summed, Each(static_cast<float>(size)));
    EXPECT_THAT(sent, Each(static_cast<float>(size - 1)));
    EXPECT_THAT(part, Each(static_cast<float>(size)));
    const auto* got = reinterpret_cast<const float*>(gathered.gathered->memory[0].get());
    for (int r = 0; r < size; ++r) {
      EXPECT_EQ(gathered.gathered->rows[0][static_cast<std::size_t>(r)], r);
      for (int i = 0; i < 2 * r; ++i) EXPECT_EQ(*got++, static_cast<float>(r));
    }
    const std::int64_t each = rank == size - 1 ? 2 : 1;
    EXPECT_THAT(swapped.gathered->rows[0], Each(each));
    EXPECT_EQ(reinterpret_cast<const float*>(swapped.gathered->memory[0].get())[each * (size - 1)],
              static_cast<float>(size - 1));
  });
}

TEST(Engine, ContiguousTensorsOfABucketAreNotCopied) {
  run_engines({2}, [](Engine& engine) {
    auto* const memory = static_cast<float*>(engine.arena()->allocate(3 * 400, 64));
    std::fill_n(memory, 300, 1.0F);
    for (int step = 0; step < 3; ++step) {
      std::vector<comm::Work> works;
      Call group{.name = "group"};  // a group is one bucket for any timing
      for (int t = 0; t < 3; ++t) {
        const Buffer part{memory + 100 * t, 100, DType::kF32};
        group.tensors.push_back({part, part});
      }
      engine.submit(group).work.wait();
    }
    EXPECT_EQ(engine.statistics().copied_bytes, 0);
    EXPECT_THAT(std::vector<float>(memory, memory + 300), Each(8.0F));
    Values a(10, 1), b(10, 2);  // not contiguous: copied in and out
    Call apart{.name = "apart",
               .tensors = {{Buffer::of(std::span(a)), Buffer::of(std::span(a))},
                           {Buffer::of(std::span(b)), Buffer::of(std::span(b))}}};
    engine.submit(apart).work.wait();
    EXPECT_EQ(engine.statistics().copied_bytes, 2 * 80);
    EXPECT_THAT(b, Each(4.0F));
    engine.arena()->free(memory);
  });
}

TEST(Engine, ScalesTypesAndOperations) {
  run_engines({3}, [](Engine& engine) {
    std::vector<double> wide = {1, 2, 3}, out(3);
    Call call{
        .name = "wide",
        .tensors = {{ConstBuffer::of(std::span<const double>(wide)), Buffer::of(std::span(out))}},
        .op = ReduceOp::kAverage,
        .prescale = 0.5,
        .postscale = 4};
    engine.submit(call).work.wait();
    EXPECT_THAT(out, ElementsAre(2, 4, 6));
    EXPECT_THAT(wide, ElementsAre(1, 2, 3));  // the input is unchanged
    std::vector<std::int32_t> whole = {engine.rank(), -engine.rank()};
    const Buffer numbers = Buffer::of(std::span(whole));
    engine.submit({.name = "max", .tensors = {{numbers, numbers}}, .op = ReduceOp::kMax})
        .work.wait();
    EXPECT_THAT(whole, ElementsAre(2, 0));
    Values rough(1000, 0.1F * static_cast<float>(engine.rank() + 1));
    Call compressed = reduce("rough", rough);
    compressed.compression = comm::Codec::parse("bf16");
    engine.submit(compressed).work.wait();
    EXPECT_NEAR(rough[7], 0.6F, 0.01F);
  });
}

TEST(Engine, CompressesBetweenHosts) {
  for (const char* codec : {"none", "bf16", "int8"}) {
    run_engines({2, 1, 2}, [&](Engine& engine) {
      for (int step = 0; step < 3; ++step) {
        Values values(5000, 1.0F), small(3, 2.0F);
        Call call = reduce("w", values, ReduceOp::kAverage);
        call.compression = comm::Codec::parse(codec);
        const comm::Work work = engine.submit(call).work;
        engine.submit(reduce("b", small)).work.wait();
        work.wait();
        EXPECT_NEAR(values[4999], 1, 0.02);
        EXPECT_THAT(small, Each(10.0F));
      }
    });
  }
}

TEST(Engine, AdasumOfEqualGradientsIsTheGradientAndOfOrthogonalOnesTheSum) {
  for (const int size : {1, 2, 3, 4}) {
    run_engines({size}, [&](Engine& engine) {
      Values same = {1, 2, 2};
      Values apart(static_cast<std::size_t>(size));
      apart[static_cast<std::size_t>(engine.rank())] = 3;
      for (auto* values : {&same, &apart}) {
        Call call = reduce(values == &same ? "same" : "apart", *values);
        call.kind = Kind::kAdasum;
        engine.submit(call).work.wait();
      }
      EXPECT_THAT(same, ElementsAre(1, 2, 2));
      EXPECT_THAT(apart, Each(3.0F));
    });
  }
}

// Tensors are submitted one at a time, so messages cannot be shared: checks the bound stated in negotiator.h.
TEST(Engine, NoRankHandlesMoreThanRadixPlusOneMessagesPerTensor) {
  const int radix = 3, tensors = 20;
  std::atomic<std::int64_t> most = 0, known = 0, full = 0;
  std::latch have_counted(13);  // leave notices are messages too
  run_engines(
      {13},
      [&](Engine& engine) {
        Values values(4, 1);
        for (int t = 0; t < tensors; ++t) engine.submit(reduce("w", values)).work.wait();
        const EngineStatistics statistics = engine.statistics();
        for (std::int64_t seen = most; statistics.messages > seen &&
                                       !most.compare_exchange_weak(seen, statistics.messages);) {
        }
        known += statistics.known_reports;
        full += statistics.full_reports;
        have_counted.arrive_and_wait();
      },
      fusion({{"radix", "3"}}));
  EXPECT_LE(most, (radix + 1) * tensors);
  EXPECT_EQ(full, 12);  // each rank except the root once
  EXPECT_EQ(known, 12 * (tensors - 1));
}

TEST(Engine, ADisagreementFailsThatTensorOnEveryRankAndNothingElse) {
  run_engines({3}, [](Engine& engine) {
    Values values(engine.rank() == 2 ? 5 : 4, 1), good(3, 1);
    const comm::Work bad = engine.submit(reduce("w", values)).work;
    const comm::Work other = engine.submit(reduce("good", good)).work;
    const std::string text = message_of([&] { bad.wait(); });
    EXPECT_THAT(text, HasSubstr("DDL-4-71"));
    EXPECT_THAT(text, HasSubstr("'w'"));
    EXPECT_THAT(text, HasSubstr("rank 2 has all_reduce of 5 f32"));
    other.wait();
    EXPECT_THAT(good, Each(3.0F));
  });
}

Call gather(const std::string& name, Values& values) {
  return {.name = name,
          .kind = Kind::kAllGather,
          .tensors = {{ConstBuffer::of(std::span<const float>(values)), {}}},
          .rows = {static_cast<std::int64_t>(values.size())},
          .row_elements = {1}};
}

TEST(Engine, OneNameForDifferentKindsIsADisagreement) {
  run_engines({3}, [](Engine& engine) {
    Values values(4, 1);
    const Ticket bad =
        engine.submit(engine.rank() == 1 ? gather("w", values) : reduce("w", values));
    const std::string text = message_of([&] { bad.work.wait(); });
    EXPECT_THAT(text, HasSubstr("DDL-4-71"));
    EXPECT_THAT(text, HasSubstr("has all_reduce of 4 f32"));
    EXPECT_THAT(text, HasSubstr("rank 1 has all_gather of 1 f32"));
  });
}

TEST(Engine, ANameInFlightDelaysTheSameNameOfAnotherKind) {
  run_engines({2}, [](Engine& engine) {
    Values summed(2, 1), again(2, 1), own(1, static_cast<float>(engine.rank()));
    const auto meet = [&] { engine.submit({.name = "wait", .kind = Kind::kBarrier}).work.wait(); };
    if (engine.rank() == 1) meet();
    const Ticket first = engine.submit(reduce("w", summed));
    const Ticket second = engine.submit(gather("w", own));
    if (engine.rank() == 0) {  // the other rank submits its tensor after this
      EXPECT_THAT(message_of([&] { engine.submit(gather("w", own)); }), HasSubstr("DDL-4-75"));
      meet();
    }
    second.work.wait();
    EXPECT_TRUE(first.work.is_complete());
    EXPECT_THAT(summed, Each(2.0F));
    const auto* got = reinterpret_cast<const float*>(second.gathered->memory[0].get());
    EXPECT_THAT(std::vector(got, got + 2), ElementsAre(0, 1));
    engine.submit(reduce("w", again)).work.wait();
    EXPECT_THAT(again, Each(2.0F));
  });
}

TEST(Engine, JoinedRanksContributeZeros) {
  run_engines({3}, [](Engine& engine) {
    const int batches = 2 + engine.rank();
    Values low(1), product(1);
    for (int step = 0; step < batches; ++step) {
      Values sum(4, 1);
      low[0] = static_cast<float>(5 + engine.rank());
      product[0] = 2;
      const comm::Work work = engine.submit(reduce("sum", sum)).work;
      engine.submit(reduce("min", low, ReduceOp::kMin)).work.wait();
      engine.submit(reduce("product", product, ReduceOp::kProduct)).work.wait();
      work.wait();
      const int active = step < 2 ? 3 : step < 3 ? 2 : 1;
      EXPECT_THAT(sum, Each(static_cast<float>(active)));
      EXPECT_EQ(low[0], static_cast<float>(5 + 3 - active));
      EXPECT_EQ(product[0], static_cast<float>(1 << active));
    }
    auto last = std::make_shared<int>(-1);
    engine.join(last).wait();
    EXPECT_EQ(*last, 2);
    Values again(2, 1);
    engine.submit(reduce("sum", again)).work.wait();
    EXPECT_THAT(again, Each(3.0F));
  });
}

TEST(Engine, AStallFailsInTheEndAndNamesTensorAndRanks) {
  std::latch have_failed(2);
  run_engines(
      {3},
      [&](Engine& engine) {
        Values values(4, 1);
        if (engine.rank() == 1) {
          have_failed.wait();
        } else {
          const comm::Work work = engine.submit(reduce("conv1.weight", values)).work;
          const std::string text = message_of([&] { work.wait(); });
          EXPECT_THAT(
              text, HasSubstr("DDL-4-73 Tensor 'conv1.weight' was not submitted by rank 1 within"));
          have_failed.count_down();
        }
        Values good(2, 1);
        engine.submit(reduce("good", good)).work.wait();
        EXPECT_THAT(good, Each(3.0F));
      },
      fusion(), "-stall_seconds 0.1 -timeout 0.4");
}

TEST(Engine, CallsFailImmediatelyAfterARankHasLeft) {
  run_engines({3}, [](Engine& engine) {
    if (engine.rank() == 2) return;
    Values values(4, 1);
    const std::string text = message_of([&] { engine.submit(reduce("w", values)).work.wait(); });
    EXPECT_THAT(text, HasSubstr("DDL-4-74 Rank 2 has shut down"));
  });
}

TEST(Engine, CallsAfterShutdownAreRejectedAndMemoryStays) {
  run_engines({2}, [](Engine& engine) {
    GradientBuckets gradients(engine, {{10}}, {});
    engine.shut_down();
    static_cast<float*>(gradients.gradient(0).data)[9] = 1;
    EXPECT_THROW(gradients.mark_ready(0), ConfigError);
    EXPECT_THROW(engine.check(), ConfigError);
    engine.shut_down();  // no further effect
  });
}

TEST(Engine, InvalidCallsAreRejectedImmediately) {
  run_engines({2}, [](Engine& engine) {
    Values values(4, 1), other(5);
    Call call = reduce("w", values);
    call.tensors[0].output = Buffer::of(std::span(other));
    EXPECT_THROW(engine.submit(call), ConfigError);
    EXPECT_THROW(engine.submit(reduce("", values)), ConfigError);
    EXPECT_THROW(engine.submit({.name = "empty"}), ConfigError);
    call = reduce("w", values);
    call.kind = Kind::kBroadcast;
    call.root = 2;
    EXPECT_THROW(engine.submit(call), ConfigError);
    call = reduce("w", values, ReduceOp::kMax);
    call.compression = comm::Codec::parse("bf16");
    EXPECT_THROW(engine.submit(call), ConfigError);
    if (engine.rank() == 1) engine.submit({.name = "wait", .kind = Kind::kBarrier}).work.wait();
    const comm::Work work = engine.submit(reduce("w", values)).work;
    if (engine.rank() == 0) {
      // The other rank submits its "w" after this.
      EXPECT_THAT(message_of([&] { engine.submit(reduce("w", other)); }), HasSubstr("DDL-4-75"));
      engine.submit({.name = "wait", .kind = Kind::kBarrier}).work.wait();
    }
    work.wait();
  });
}

TEST(Engine, TheTimelineHasAllRanksInOneFile) {
  const auto file = std::filesystem::temp_directory_path() / "tutti_timeline_test.json";
  run_engines({3}, [&](Engine& engine) {
    engine.start_timeline(file);
    Values values(4, 1);
    engine.submit(reduce("conv1.weight", values)).work.wait();
    engine.stop_timeline().wait();
    engine.submit(reduce("after", values)).work.wait();
  });
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  for (const char* part : {"\"rank 0 (", "\"rank 1 (", "\"rank 2 (", "conv1.weight",
                           "all_reduce of 4 f32", "negotiate"})
    EXPECT_THAT(text.str(), HasSubstr(part));
  EXPECT_THAT(text.str(), testing::Not(HasSubstr("after")));
  std::filesystem::remove(file);
}

TEST(GradientBuckets, ReduceInPlaceAfterTheLastPass) {
  for (const int size : {1, 3}) {
    run_engines({size}, [&](Engine& engine) {
      const std::vector<GradientSize> sizes = {{100}, {7, DType::kF64}, {0}, {3000}, {20}};
      GradientBuckets gradients(engine, sizes, {.limits = {2000, 100}, .passes = 2});
      EXPECT_GT(gradients.buckets(), 2u);
      for (int step = 0; step < 3; ++step) {
        EXPECT_FALSE(gradients.is_reducing());
        for (int pass = 0; pass < 2; ++pass) {
          for (std::size_t i = sizes.size(); i-- > 0;) {
            auto* values = static_cast<float*>(gradients.gradient(i).data);
            if (sizes[i].dtype == DType::kF32)
              for (std::int64_t e = 0; e < sizes[i].count; ++e)
                values[e] = (pass == 0 ? 0 : values[e]) + static_cast<float>(engine.rank() + step);
            if (i != 0 || engine.rank() != 0) gradients.mark_ready(i);  // not used on rank 0
          }
        }
        EXPECT_TRUE(gradients.is_reducing());
        gradients.synchronize();
        for (const std::size_t i : {0u, 3u, 4u}) {
          const auto* values = static_cast<const float*>(gradients.gradient(i).data);
          for (std::int64_t e = 0; e < sizes[i].count; ++e)
            ASSERT_FLOAT_EQ(values[e],
                            2 * (static_cast<float>(size - 1) / 2 + static_cast<float>(step)));
        }
      }
      EXPECT_EQ(engine.statistics().copied_bytes, 0);
      gradients.set_passes(1);
      gradients.mark_ready(1);
      EXPECT_THROW(gradients.mark_ready(1), ConfigError);
      gradients.synchronize();
    });
  }
}

TEST(Engine, AutotuningChangesNoResult) {
  run_engines(
      {2},
      [](Engine& engine) {
        Values values(1 << 16, 1);
        for (int step = 0; step < 3; ++step) {
          std::fill(values.begin(), values.end(), 1.0F);
          engine.submit(reduce("w", values)).work.wait();
          EXPECT_EQ(std::count(values.begin(), values.end(), 2.0F), 1 << 16);
        }
        EXPECT_TRUE(engine.rank() > 0 || engine.statistics().bucket_bytes == 16 << 20);
      },
      fusion({{"autotune", "1"}, {"cycle_ms", "1"}}));
}

}  // namespace
}  // namespace tutti::fusion
