#include "tutti/lms/trace.h"

#include <gmock/gmock.h>

#include "tutti/core/error.h"
#include "tutti/lms/lifetimes.h"
#include "tutti/lms/test_traces.h"

namespace tutti::lms {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Trace trace_with_all_fields() {
  TraceBuilder builder;
  const int weight = builder.persistent(1 << 20);
  builder.run("relu \"x\"", 0.1).use({weight}).workspace(4096);
  const int output = builder.allocate(300'000);
  builder.block(output) = {
      .bytes = 300'000, .codec = Codec::kZeroSuppressed, .stored_bytes = 123'456};
  builder.recipe(output, {weight});
  builder.run("step", 1.0 / 3, Phase::kOptimizer).modify(weight);
  builder.free_after(output);
  Trace trace = builder.build();
  trace.small_bytes = 77;
  trace.operators.back().hash = ~std::uint64_t{0};
  return trace;
}

TEST(TraceTest, JsonRoundTripKeepsAllFields) {
  const Trace trace = trace_with_all_fields();
  const std::string text = to_json(trace);
  EXPECT_EQ(trace_from_json(text), trace);
  EXPECT_EQ(to_json(trace_from_json(text)), text);
  EXPECT_EQ(trace_from_json(to_json(Trace{})), Trace{});
}

std::string error_of(const Trace& trace) {
  try {
    validate(trace);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(TraceTest, RejectsContradictions) {
  const Trace valid = trace_with_all_fields();
  EXPECT_EQ(error_of(valid), "");
  Trace trace = valid;
  trace.operators[1].uses = {0, 7};
  EXPECT_THAT(error_of(trace), HasSubstr("block 7 of 3"));
  trace = valid;
  trace.operators[1].uses = {0, 1};  // workspace of operator 0
  EXPECT_THAT(error_of(trace), HasSubstr("uses block 1, which does not exist"));
  trace = valid;
  trace.operators[1].events = {{EventKind::kAllocate, 2}};
  EXPECT_THAT(error_of(trace), HasSubstr("allocates block 2"));
  trace = valid;
  trace.events_after.push_back({EventKind::kFree, 2});
  EXPECT_THAT(error_of(trace), HasSubstr("frees block 2"));
  trace = valid;
  trace.operators[1].start = 0;
  EXPECT_THAT(error_of(trace), HasSubstr("too early"));
  trace = valid;
  trace.blocks[2].bytes = 0;
  EXPECT_THAT(error_of(trace), HasSubstr("block 2 has 0 bytes"));
  trace = valid;
  trace.blocks[2].is_persistent = true;
  EXPECT_THAT(error_of(trace), HasSubstr("persistent block 2"));
  trace = valid;
  trace.operators[1].modifies = {1};
  EXPECT_THAT(error_of(trace), HasSubstr("modifies"));
}

TEST(TraceTest, RejectsMalformedText) {
  EXPECT_THROW(trace_from_json("{"), ConfigError);
  EXPECT_THROW(trace_from_json("{}"), ConfigError);
  EXPECT_THROW(trace_from_json(R"({"version": 2, "duration": 0, "blocks": [], "operators": []})"),
               ConfigError);
  EXPECT_THROW(trace_from_json(R"({"version": 1, "duration": 0, "operators": [],
                                   "blocks": [{"bytes": 1, "codec": "zip"}]})"),
               ConfigError);
}

TEST(TraceTest, HashDependsOnOrderAndContent) {
  const auto hash = [](std::string_view first, std::string_view second, std::uint64_t size) {
    return extend_hash(extend_hash(extend_hash(kHashSeed, first), second), size);
  };
  EXPECT_EQ(hash("a", "b", 1), hash("a", "b", 1));
  EXPECT_NE(hash("a", "b", 1), hash("b", "a", 1));
  EXPECT_NE(hash("a", "b", 1), hash("a", "b", 2));
  EXPECT_NE(hash("ab", "", 1), hash("a", "b", 1));
}

TEST(LifetimesTest, OfAChain) {
  const Trace trace = chain_trace(2, 1000, 1);  // conv 0, conv 1, backward 2, backward 3, sgd 4
  const auto lifetimes = lifetimes_of(trace);
  ASSERT_EQ(lifetimes.size(), 5U);
  EXPECT_THAT(lifetimes[0].uses, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(lifetimes[0].allocated, -1);
  EXPECT_TRUE(lifetimes[0].outlives_step);
  EXPECT_THAT(lifetimes[1].uses, ElementsAre(0, 1, 3));
  EXPECT_EQ(lifetimes[1].freed, 4);
  EXPECT_FALSE(lifetimes[1].outlives_step);
  EXPECT_THAT(idle_intervals(lifetimes[0], trace), IsEmpty());
  EXPECT_THAT(idle_intervals(lifetimes[1], trace), ElementsAre(IdleInterval{1, 3, true}));
  EXPECT_THAT(idle_intervals(lifetimes[4], trace), IsEmpty());  // the last gradient
}

TEST(LifetimesTest, OfPersistentAndSurvivingBlocks) {
  TraceBuilder builder;
  const int weight = builder.persistent(10), unused = builder.persistent(10);
  builder.run("a", 1);
  builder.run("b", 1).use({weight});
  const int output = builder.allocate(10);
  builder.run("c", 1);
  builder.run("d", 1);
  const Trace trace = builder.build();
  const auto lifetimes = lifetimes_of(trace);
  const auto intervals = [&](int block) {
    return idle_intervals(lifetimes[static_cast<std::size_t>(block)], trace);
  };
  EXPECT_THAT(intervals(weight), ElementsAre(IdleInterval{1, 4 + 1, true}));
  EXPECT_THAT(intervals(unused), ElementsAre(IdleInterval{-1, 4, false}));
  EXPECT_THAT(intervals(output), ElementsAre(IdleInterval{1, 4, false}));
}

}  // namespace
}  // namespace tutti::lms
