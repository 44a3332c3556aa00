#include "tutti/lms/recompute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/lms/test_traces.h"

namespace tutti::lms {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kContent = 1 << 20;

// Operators: 0 conv (x), 1 batch norm (y), 2 relu (z), 3 loss, 4 backward (uses x and z). y is freed after 2.
struct Network {
  explicit Network(bool modifies_x = false, bool frees_x = false) {
    const int input = builder.persistent(kContent);
    builder.run("conv", 1).use({input});
    x = builder.allocate(kContent);
    builder.run("batch_norm", 2).use({x});
    y = builder.allocate(kContent);
    builder.recipe(y, {x});
    builder.run("relu", 4).use({y});
    z = builder.allocate(kContent);
    builder.recipe(z, {y}).free_after(y);
    builder.run("loss", 8).use({z});
    if (modifies_x) builder.modify(x);
    if (frees_x) builder.free_after(x);
    builder.run("backward", 16).use({z});
    trace = builder.build();
  }
  std::optional<RecomputeChain> chain(int block) const {
    validate(trace);
    const auto lifetimes = lifetimes_of(trace);
    return RecomputeRules(trace, lifetimes).chain(block, 4);
  }
  TraceBuilder builder;
  Trace trace;
  int x = 0, y = 0, z = 0;
};

TEST(RecomputeTest, ChainsReachBackToExistingContents) {
  const Network network;
  const auto chain = network.chain(network.z);
  ASSERT_TRUE(chain);
  EXPECT_THAT(chain->recipes, ElementsAre(0, 1));
  EXPECT_THAT(chain->inputs, ElementsAre(network.x));
  EXPECT_EQ(chain->seconds, 6);
  EXPECT_EQ(chain->temporary_bytes, kContent);
}

TEST(RecomputeTest, ModifiedOrFreedInputsEndAChain) {
  EXPECT_FALSE(Network(true, false).chain(3));
  EXPECT_FALSE(Network(false, true).chain(3));
  const Network network;
  EXPECT_FALSE(network.chain(network.x));  // no recipe
}

// conv (0), batch norm (1), ReLU in place (2), other (3), backward (4).
TEST(RecomputeTest, OperatorsInPlaceHaveTheFormerContentAsInput) {
  TraceBuilder builder;
  const int x = builder.persistent(kContent);
  builder.run("other", 1);
  builder.run("batch_norm", 2).use({x});
  const int y = builder.allocate(kContent);
  builder.recipe(y, {x});
  builder.run("relu_", 4).modify(y);
  builder.recipe(y, {y});
  builder.run("other", 8);
  builder.run("backward", 16).use({y});
  Trace trace = builder.build();
  validate(trace);
  const auto lifetimes = lifetimes_of(trace);
  const auto chain = RecomputeRules(trace, lifetimes).chain(y, 4);
  ASSERT_TRUE(chain);
  EXPECT_THAT(chain->recipes, ElementsAre(0, 1));
  EXPECT_THAT(chain->inputs, ElementsAre(x));
  // Another operator modifies the block afterwards, within the same outermost operator.
  trace.recipes[1].is_final = false;
  EXPECT_FALSE(RecomputeRules(trace, lifetimes).chain(y, 4));
}

}  // namespace
}  // namespace tutti::lms
