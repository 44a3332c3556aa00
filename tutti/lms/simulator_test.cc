#include "tutti/lms/simulator.h"

#include <gmock/gmock.h>

#include <map>
#include <random>
#include <set>
#include <utility>

#include "tutti/lms/lifetimes.h"
#include "tutti/lms/test_traces.h"

namespace tutti::lms {
namespace {

using testing::IsEmpty;

constexpr std::int64_t kBytes = 1000;

Tier tier_of(double bandwidth, double latency = 0) {
  return {.write_bandwidth = bandwidth, .read_bandwidth = bandwidth, .latency = latency};
}

// A step with random operators: blocks of random size with random lifetimes and uses, workspace, and modifications.
Trace random_trace(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  TraceBuilder builder;
  std::vector<int> live;
  for (int weight = 0; weight < 3; ++weight) live.push_back(builder.persistent(1 + below(500)));
  for (int op = 0; op < 40; ++op) {
    builder.run("op", 0.001 * (1 + below(10)));
    std::set<int> uses;
    for (int use = 0; use < 2 && !live.empty(); ++use)
      uses.insert(live[static_cast<std::size_t>(below(static_cast<int>(live.size())))]);
    builder.use({uses.begin(), uses.end()});
    if (below(3) > 0) builder.workspace(1 + below(300));
    if (below(4) > 0) live.push_back(builder.allocate(1 + below(1000)));
    if (below(3) == 0 && live.size() > 3) {
      const auto victim = static_cast<std::size_t>(3 + below(static_cast<int>(live.size()) - 3));
      (below(2) == 0 ? builder.free(live[victim]) : builder.free_after(live[victim]));
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(victim));
    }
  }
  Trace trace = builder.build();
  trace.small_bytes = below(50);
  return trace;
}

// A plan that swaps each idle interval with probability 1/2, at random operators.
Plan random_plan(const Trace& trace, unsigned seed, bool with_persistent) {
  std::mt19937 random(seed);
  Plan plan;
  plan.hash = trace.hash();
  const auto lifetimes = lifetimes_of(trace);
  for (std::size_t block = 0; block < lifetimes.size(); ++block) {
    if (trace.blocks[block].is_persistent && !with_persistent) continue;
    for (const IdleInterval& interval : idle_intervals(lifetimes[block], trace)) {
      if (random() % 2 == 0) continue;
      std::vector<int> points(2);
      for (int& point : points) {
        point = interval.last_use + 1 +
                static_cast<int>(random() %
                                 static_cast<unsigned>(interval.next_use - interval.last_use));
      }
      std::sort(points.begin(), points.end());
      plan.decisions.push_back({.block = static_cast<int>(block),
                                .last_use = interval.last_use,
                                .write_after = interval.last_use,
                                .free_by = points[0],
                                .read_before = points[1],
                                .next_use = interval.next_use,
                                .is_needed = interval.is_needed});
    }
  }
  validate(plan, trace);
  return plan;
}

// The largest working set of any operator, computed independently of the library.
std::int64_t largest_working_set(const Trace& trace) {
  std::int64_t largest = 0;
  for (const Operator& op : trace.operators) {
    std::set<int> blocks(op.uses.begin(), op.uses.end());
    const auto sum = [&] {
      std::int64_t bytes = 0;
      for (const int block : blocks) bytes += trace.blocks[static_cast<std::size_t>(block)].bytes;
      return bytes;
    };
    largest = std::max(largest, sum());
    for (const MemoryEvent& event : op.events) {
      event.kind == EventKind::kAllocate ? (void)blocks.insert(event.block)
                                         : (void)blocks.erase(event.block);
      largest = std::max(largest, sum());
    }
  }
  return largest;
}

TEST(SimulatorTest, PeakAndTimeWithoutPlan) {
  const Trace trace = chain_trace(4, kBytes, 1);
  const Simulation result = simulate(trace, {}, {});
  // Weight, four activations and the first gradient; then one gradient more, one activation less.
  EXPECT_EQ(peak_bytes(trace), 6 * kBytes);
  EXPECT_EQ(result.peak, 6 * kBytes);
  EXPECT_EQ(result.seconds, trace.duration);
  EXPECT_EQ(result.written, 0);
  EXPECT_THAT(result.stalls, IsEmpty());
}

TEST(SimulatorTest, MinimumBudgetNamesTheOperator) {
  TraceBuilder builder;
  const int weight = builder.persistent(100);
  builder.run("small", 1).use({weight});
  const int input = builder.allocate(50);
  builder.run("large", 1).use({weight, input}).workspace(400);
  const int output = builder.allocate(30);
  builder.run("other", 1).use({output}).workspace(300);
  Trace trace = builder.build();
  trace.small_bytes = 7;
  Requirement requirement = minimum_budget(trace, {});
  EXPECT_EQ(requirement.bytes, 7 + 100 + 50 + 400);
  EXPECT_EQ(requirement.op, 1);
  EXPECT_EQ(requirement.working_set, 450);
  EXPECT_EQ(peak_bytes(trace), 7 + 100 + 50 + 400);
  requirement = minimum_budget(trace, {.with_persistent = true});
  EXPECT_EQ(requirement.bytes, 7 + 100 + 50 + 400);
  trace.operators[1].uses = {input};
  EXPECT_EQ(minimum_budget(trace, {.with_persistent = true}).bytes, 7 + 50 + 400);
}

TEST(SimulatorTest, WriteAndReadTimesOverlapWithComputation) {
  // Forward 0 to 3, backward 4 to 7. Block 1 is idle from the end of operator 1 to the start of operator 7.
  const Trace trace = chain_trace(4, kBytes, 1);
  Plan plan;
  plan.decisions = {
      {.block = 1, .last_use = 1, .write_after = 1, .free_by = 4, .read_before = 6, .next_use = 7}};
  SimulatorOptions options{.tier = tier_of(kBytes), .records_curve = true};
  Simulation result = simulate(trace, plan, options);
  EXPECT_EQ(result.peak, 5 * kBytes);
  EXPECT_EQ(result.seconds, trace.duration);
  EXPECT_EQ(result.written, kBytes);
  EXPECT_EQ(result.read, kBytes);
  EXPECT_EQ(result.resident.back().bytes, kBytes);
  // The read takes 1.5 s and starts 1 s before the use; the write of 1.5 s must be done after 1 s.
  options.tier = tier_of(kBytes / 1.5);
  plan.decisions[0].free_by = 3;
  result = simulate(trace, plan, options);
  EXPECT_DOUBLE_EQ(result.read_stall, 0.5);
  EXPECT_DOUBLE_EQ(result.write_stall, 0.5);
  EXPECT_DOUBLE_EQ(result.seconds, trace.duration + 1);
  ASSERT_EQ(result.stalls.size(), 2U);
  EXPECT_EQ(result.stalls[0].op, 3);
  EXPECT_EQ(result.stalls[1].op, 7);
  EXPECT_EQ(result.stalls[1].block, 1);
  EXPECT_EQ(result.unplanned_reads, 0);
  EXPECT_EQ(result.unplanned_writes, 0);
}

// A chain of layers whose first activation is swapped in an encoding of 40 bytes.
std::pair<Trace, Plan> encoded_chain() {
  Trace trace = chain_trace(4, kBytes, 1);
  trace.blocks[1].codec = Codec::kBits;
  trace.blocks[1].stored_bytes = 40;
  Plan plan;
  plan.decisions = {{.block = 1,
                     .last_use = 1,
                     .write_after = 1,
                     .free_by = 4,
                     .read_before = 6,
                     .next_use = 7,
                     .codec = Codec::kBits}};
  return {trace, plan};
}

TEST(SimulatorTest, CodecReducesTheBytesMoved) {
  const auto [trace, plan] = encoded_chain();
  const Simulation result = simulate(trace, plan, {.tier = tier_of(1000)});
  EXPECT_EQ(result.written, 40);
  EXPECT_EQ(result.read, 40);
  EXPECT_EQ(result.peak, 5 * kBytes + 40);

  Tier tier = tier_of(1000);
  tier.encode_bandwidth = kBytes / 2.0;
  tier.decode_bandwidth = kBytes / 3.0;
  const Simulation slow = simulate(trace, plan, {.tier = tier});
  EXPECT_NEAR(slow.transfer_cpu, 5, 1e-12);
  EXPECT_NEAR(slow.seconds, result.seconds + 5, 1e-12);
}

TEST(SimulatorTest, EncodedContentNeedsMemoryUntilItIsWritten) {
  const auto [trace, plan] = encoded_chain();
  for (std::int64_t budget = minimum_budget(trace, {}).bytes; budget < 7 * kBytes; budget += 20) {
    const Simulation result = simulate(trace, plan, {.budget = budget, .tier = tier_of(1000)});
    EXPECT_TRUE(result.is_feasible) << budget;
    EXPECT_LE(result.peak, budget);
  }
}

TEST(SimulatorTest, RecomputeTakesTheTimeOfTheProducer) {
  const Trace trace = chain_trace(4, kBytes, 1);
  Plan plan;
  plan.decisions = {{.block = 1,
                     .action = Action::kRecompute,
                     .last_use = 1,
                     .write_after = 1,
                     .free_by = 2,
                     .read_before = 7,
                     .next_use = 7}};
  const Simulation result = simulate(trace, plan, {.tier = tier_of(1)});
  EXPECT_EQ(result.recompute, 1);
  EXPECT_EQ(result.seconds, trace.duration + 1);
  EXPECT_EQ(result.written, 0);
  EXPECT_EQ(result.peak, 5 * kBytes);
}

TEST(SimulatorTest, PersistentBlocksMoveAcrossSteps) {
  TraceBuilder builder;
  const int first = builder.persistent(kBytes), second = builder.persistent(kBytes);
  builder.run("a", 1).use({first});
  builder.run("b", 1).use({second});
  builder.run("c", 1).use({second});
  builder.run("d", 1).use({second});
  const Trace trace = builder.build();
  Plan plan;
  plan.decisions = {{.block = first,
                     .last_use = 0,
                     .write_after = 0,
                     .free_by = 2,
                     .read_before = 4,
                     .next_use = 4}};
  const Simulation result =
      simulate(trace, plan, {.tier = tier_of(kBytes), .movable = {.with_persistent = true}});
  EXPECT_DOUBLE_EQ(result.read_stall, 1);  // read synchronously at the start of each step
  EXPECT_EQ(result.written, kBytes);
  EXPECT_EQ(result.read, kBytes);
}

TEST(SimulatorTest, ZeroTransferCostHasNoOverhead) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Trace trace = random_trace(seed);
    const std::int64_t minimum = minimum_budget(trace, {}).bytes;
    const Plan plan = random_plan(trace, seed, false);
    for (const Plan& each : {Plan{}, plan}) {
      const Simulation result = simulate(trace, each, {.budget = minimum});
      EXPECT_TRUE(result.is_feasible) << seed;
      EXPECT_EQ(result.seconds, trace.duration) << seed;
    }
  }
}

TEST(SimulatorTest, FeasiblePlansNeverExceedTheBudget) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Trace trace = random_trace(seed);
    validate(trace);
    const bool with_persistent = seed % 2 == 0;
    const MovableBlocks movable = {.with_persistent = with_persistent};
    const std::int64_t minimum = minimum_budget(trace, movable).bytes;
    const std::int64_t peak = peak_bytes(trace);
    const Plan plan = random_plan(trace, seed, with_persistent);
    for (const std::int64_t budget : {minimum, (minimum + peak) / 2, peak}) {
      const Simulation result =
          simulate(trace, plan, {.budget = budget, .tier = tier_of(1e5, 1e-4), .movable = movable});
      EXPECT_TRUE(result.is_feasible) << seed;
      EXPECT_LE(result.peak, budget) << seed;
      EXPECT_GE(result.peak, largest_working_set(trace)) << seed;
      EXPECT_GE(result.seconds, trace.duration) << seed;
    }
  }
}

TEST(SimulatorTest, NeverBelowTheLargestWorkingSet) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Trace trace = random_trace(seed);
    const std::int64_t largest = largest_working_set(trace);
    EXPECT_GE(minimum_budget(trace, {.with_persistent = true}).bytes, largest);
    EXPECT_LE(minimum_budget(trace, {}).bytes, peak_bytes(trace));
    const std::int64_t minimum = minimum_budget(trace, {}).bytes;
    const Simulation result = simulate(trace, {}, {.budget = minimum - 1, .tier = tier_of(1e5)});
    EXPECT_FALSE(result.is_feasible) << seed;
  }
}

TEST(SimulatorTest, PassivePathReadsWhatItEvicted) {
  const Trace trace = chain_trace(4, kBytes, 1);
  const std::int64_t minimum = minimum_budget(trace, {}).bytes;
  EXPECT_EQ(minimum, 4 * kBytes);  // weight, activation, two gradients
  const Simulation result = simulate(trace, {}, {.budget = minimum, .tier = tier_of(kBytes)});
  EXPECT_TRUE(result.is_feasible);
  EXPECT_EQ(result.unplanned_writes, 2);
  EXPECT_EQ(result.unplanned_reads, 2);
  EXPECT_DOUBLE_EQ(result.seconds, trace.duration + 4);
}

}  // namespace
}  // namespace tutti::lms
