#include "tutti/lms/planner.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "tutti/core/error.h"
#include "tutti/lms/internal/memory_curve.h"
#include "tutti/lms/options.h"
#include "tutti/lms/test_traces.h"

namespace tutti::lms {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kMiB = 1 << 20;

PlannerOptions options_of(std::int64_t budget, double bandwidth) {
  PlannerOptions options;
  options.budget = budget;
  options.tier = {.write_bandwidth = bandwidth, .read_bandwidth = bandwidth, .latency = 1e-4};
  return options;
}

Simulation evaluate(const Trace& trace, const PlannerOptions& options) {
  const Plan plan = make_plan(trace, options);
  validate(plan, trace);
  return simulate(trace, plan, options.simulator());
}

TEST(MemoryCurveTest, FindsAndChangesRanges) {
  const Trace trace = chain_trace(20, 100, 1);
  MemoryCurve curve(trace);
  std::vector<std::int64_t> values;
  for (int instant = 0; instant < curve.size(); ++instant) {
    values.push_back(curve.maximum(instant, instant + 1));
  }
  EXPECT_EQ(*std::max_element(values.begin(), values.end()), peak_bytes(trace));
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const auto [low, high] = std::minmax({random() % values.size(), random() % values.size()});
    const int first = static_cast<int>(low), last = static_cast<int>(high);
    const auto bytes = static_cast<std::int64_t>(random() % 200) - 100;
    curve.add(first, last, bytes);
    for (int instant = first; instant < last; ++instant)
      values[static_cast<std::size_t>(instant)] += bytes;
    const std::int64_t limit = values[random() % values.size()];
    const auto is_above = [&](std::int64_t value) { return value > limit; };
    const auto begin = values.begin() + first;
    EXPECT_EQ(curve.first_above(first, limit),
              first + (std::find_if(begin, values.end(), is_above) - begin));
    int above = last - 1;
    while (above >= 0 && !is_above(values[static_cast<std::size_t>(above)])) --above;
    EXPECT_EQ(curve.last_above(last, limit), above);
  }
}

TEST(PlannerTest, MovesNothingIfEverythingFits) {
  const Trace trace = chain_trace(10, kMiB, 0.01);
  EXPECT_THAT(make_plan(trace, options_of(peak_bytes(trace), 1e9)).decisions, IsEmpty());
}

TEST(PlannerTest, ReportsTheSmallestBudgetThatWorks) {
  const Trace trace = chain_trace(10, kMiB, 0.01);
  const std::int64_t minimum = minimum_budget(trace, {}).bytes;
  try {
    make_plan(trace, options_of(minimum - 1, 1e9));
    FAIL();
  } catch (const MemoryError& error) {
    EXPECT_THAT(error.what(), HasSubstr("DDL-5-63"));
    EXPECT_THAT(error.what(), HasSubstr("(conv_backward)"));
    EXPECT_THAT(error.what(), HasSubstr("at least 4MiB"));
  }
  EXPECT_TRUE(evaluate(trace, options_of(minimum, 1e9)).is_feasible);
}

TEST(PlannerTest, FastDiskHidesAllTransfers) {
  const Trace trace = chain_trace(32, kMiB, 0.01);
  for (const std::int64_t budget : {8 * kMiB, 16 * kMiB, 30 * kMiB}) {
    const Simulation result = evaluate(trace, options_of(budget, 400.0 * kMiB));
    EXPECT_LE(result.peak, budget);
    EXPECT_EQ(result.seconds, trace.duration) << budget;
    EXPECT_EQ(result.unplanned_reads + result.unplanned_writes, 0) << budget;
    // Only the excess over the budget moves, and the memory for reads ahead of time.
    EXPECT_LE(result.written, peak_bytes(trace) - budget + 4 * kMiB) << budget;
  }
}

TEST(PlannerTest, SlowDiskCostsNoMoreThanItsTransfers) {
  const Trace trace = chain_trace(32, kMiB, 0.01);
  for (const std::int64_t budget : {5 * kMiB, 12 * kMiB, 24 * kMiB}) {
    const PlannerOptions options = options_of(budget, 20.0 * kMiB);
    const Simulation planned = evaluate(trace, options);
    const Simulation passive = simulate(trace, {}, options.simulator());
    EXPECT_LE(planned.peak, budget);
    EXPECT_LT(planned.seconds, passive.seconds) << budget;
  }
}

TEST(PlannerTest, PlansOfRandomTracesKeepTheBudget) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    TraceBuilder builder;
    std::vector<int> live = {builder.persistent(100), builder.persistent(200)};
    for (int op = 0; op < 60; ++op) {
      builder.run("op", 0.001 * static_cast<double>(1 + random() % 10));
      const int used = live[random() % live.size()];
      builder.use({used}).workspace(static_cast<std::int64_t>(1 + random() % 500));
      live.push_back(builder.allocate(static_cast<std::int64_t>(1 + random() % 1000)));
      if (random() % 2 == 0) builder.recipe(live.back(), {used});
      if (live.size() > 25) {
        builder.free_after(live[2]);
        live.erase(live.begin() + 2);
      }
    }
    const Trace trace = builder.build();
    for (const bool is_full : {false, true}) {
      PlannerOptions options = options_of(0, 1e5);
      options.movable.with_persistent = is_full;
      const std::int64_t minimum = minimum_budget(trace, options.movable).bytes;
      for (const int eighths : {0, 1, 4}) {
        options.budget = minimum + (peak_bytes(trace) - minimum) * eighths / 8;
        const Simulation result = evaluate(trace, options);
        EXPECT_TRUE(result.is_feasible) << seed;
        EXPECT_LE(result.peak, options.budget) << seed;
        const Simulation passive = simulate(trace, {}, options.simulator());
        EXPECT_LE(result.seconds, passive.seconds * 1.2) << seed;
      }
    }
  }
}

TEST(PlannerTest, RecomputesCheapBlocksOnASlowDisk) {
  TraceBuilder builder;
  const int input = builder.persistent(8 * kMiB);
  std::vector<int> outputs;
  for (int layer = 0; layer < 8; ++layer) {
    builder.run("relu", 0.001).use({input});
    outputs.push_back(builder.allocate(8 * kMiB));
    builder.recipe(outputs.back(), {input});
  }
  for (int layer = 7; layer >= 0; --layer) {
    const int output = outputs[static_cast<std::size_t>(layer)];
    builder.run("relu_backward", 0.01).use({output}).free_after(output);
  }
  const Trace trace = builder.build();
  PlannerOptions options = options_of(40 * kMiB, 10.0 * kMiB);
  const Simulation mixed = evaluate(trace, options);
  EXPECT_GT(mixed.recompute, 0);
  options.recomputes = false;
  const Simulation swapped = evaluate(trace, options);
  EXPECT_EQ(swapped.recompute, 0);
  EXPECT_LT(mixed.seconds, swapped.seconds);
}

TEST(PlannerTest, NeverRecomputesModifiedBlocks) {
  TraceBuilder builder;
  const int input = builder.persistent(kMiB);
  builder.run("relu", 0.001).use({input});
  const int output = builder.allocate(kMiB);
  builder.recipe(output, {input});
  builder.run("add_", 0.001).modify(input);
  builder.run("other", 1).workspace(2 * kMiB);
  builder.run("use", 0.001).use({output});
  const Trace trace = builder.build();
  PlannerOptions options = options_of(3 * kMiB, 1.0 * kMiB);
  options.prefers_recompute = true;
  const Plan plan = make_plan(trace, options);
  ASSERT_EQ(plan.decisions.size(), 1U);
  EXPECT_EQ(plan.decisions[0].action, Action::kSwap);
}

TEST(PlannerTest, KnobsHaveTheirDocumentedMeaning) {
  const Trace trace = chain_trace(32, kMiB, 0.01);
  PlannerOptions options = options_of(12 * kMiB, 400.0 * kMiB);
  options.sync_mode = 3;
  for (const Decision& decision : make_plan(trace, options).decisions) {
    EXPECT_EQ(decision.free_by, decision.write_after + 1);
    EXPECT_EQ(decision.read_before, decision.next_use);
  }
  options.sync_mode = 0;
  options.swapin_ahead = 2;
  for (const Decision& decision : make_plan(trace, options).decisions) {
    EXPECT_GE(decision.read_before, decision.next_use - 2);
  }
  options.swapout_threshold = 30;
  for (const Decision& decision : make_plan(trace, options).decisions) {
    EXPECT_GT(decision.next_use - decision.last_use, 30);
  }
  options.movable.minimum_bytes = 2 * kMiB;
  options.budget = 100 * kMiB;
  EXPECT_THAT(make_plan(trace, options).decisions, IsEmpty());
}

TEST(PlannerTest, OptionsComeFromTheTable) {
  Options values(lms_options());
  PlannerOptions options = planner_options(values, 123, {});
  EXPECT_EQ(options.budget, 123);
  EXPECT_EQ(options.movable.minimum_bytes, 256 * 1024);
  EXPECT_FALSE(options.movable.with_persistent);
  values.set("mode", "full");
  values.set("sync_mode", "3");
  values.set("lms", "1000");
  options = planner_options(values, 123, {});
  EXPECT_TRUE(options.movable.with_persistent);
  EXPECT_EQ(options.sync_mode, 3);
  EXPECT_EQ(options.movable.minimum_bytes, 1'024'000);
  EXPECT_THROW(values.set("sync_mode", "4"), ConfigError);
}

TEST(PlannerTest, LateReadsStartEarlier) {
  const Trace trace = chain_trace(8, kMiB, 1);  // forward 0 to 7, backward 8 to 15
  Plan plan;
  plan.decisions = {{.block = 1,
                     .last_use = 1,
                     .write_after = 1,
                     .free_by = 12,
                     .read_before = 15,
                     .next_use = 15}};
  advance_reads(plan, trace, {{.block = 1, .next_use = 15, .seconds = 1}});
  EXPECT_EQ(plan.decisions[0].read_before, 13);
  advance_reads(plan, trace, {{.block = 1, .next_use = 15, .seconds = 5}});
  EXPECT_EQ(plan.decisions[0].read_before, 12);
  advance_reads(plan, trace, {{.block = 2, .next_use = 15, .seconds = 5}});
  EXPECT_EQ(plan.decisions[0].read_before, 12);
}

TEST(PlannerTest, PlansTenThousandBlocks) {
  const Trace trace = chain_trace(5000, kMiB, 0.001);
  const Simulation result = evaluate(trace, options_of(500 * kMiB, 500.0 * kMiB));
  EXPECT_TRUE(result.is_feasible);
  EXPECT_LE(result.peak, 500 * kMiB);
}

}  // namespace
}  // namespace tutti::lms
