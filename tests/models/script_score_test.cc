#include "tutti/models/script/score.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <array>

#include "tutti/comm/transport/thread/thread_world.h"

namespace tutti::models::script {
namespace {

using torch::tensor;

// Metrics of two ranks with half of the samples each.
train::Metrics metrics_of(Loss loss, const torch::Tensor& output, const torch::Tensor& target) {
  std::array<train::Metrics, 2> found;
  comm::ThreadWorld world(2);
  world.run([&](comm::Transport& transport) {
    const int rank = transport.rank();
    const auto communicator = comm::Communicator::create(world.transport(rank));
    Score score(loss, target[0].numel(), target[0]);
    const std::int64_t half = target.size(0) / 2;
    const auto mine = [&](const torch::Tensor& all) { return all.narrow(0, rank * half, half); };
    score.add(mine(output), mine(target), 0.25 * (1 + rank));
    found[static_cast<std::size_t>(rank)] = score.metrics(*communicator);
  });
  EXPECT_EQ(found[0], found[1]);
  return found[0];
}

// One output has a mean of 1000 and is predicted exactly, the other not at all: R^2 with a common mean would be
// 0.999998.
TEST(Score, EveryOutputHasItsOwnMean) {
  const torch::Tensor target =
      torch::tensor({{1000.f, 1.f}, {1001.f, -1.f}, {1002.f, 1.f}, {1003.f, -1.f}});
  torch::Tensor output = target.clone();
  output.select(1, 1).zero_();
  const train::Metrics found = metrics_of(Loss::kMeanSquared, output, target);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0], std::pair(std::string("explained"), 0.5));
  EXPECT_EQ(found[1], std::pair(std::string("loss"), 0.375));
  EXPECT_EQ(found[2], std::pair(std::string("explained_0"), 1.0));
  EXPECT_EQ(found[3], std::pair(std::string("explained_1"), 0.0));
}

TEST(Score, ConstantTargets) {
  const torch::Tensor target = torch::full({4}, 0.1f);
  EXPECT_EQ(metrics_of(Loss::kMeanSquared, target, target)[0].second, 1);
  EXPECT_EQ(metrics_of(Loss::kMeanSquared, target + 1, target)[0].second, 0);
}

TEST(Score, AccuracyIsAFractionOfThePixels) {
  const torch::Tensor target = torch::zeros({2, 4, 4}, torch::kInt64);
  torch::Tensor output = torch::zeros({2, 2, 4, 4});
  output.select(1, 0).fill_(1);
  output[1][1][0].fill_(2);  // four of 32 are wrong
  EXPECT_EQ(metrics_of(Loss::kCrossEntropy, output, target)[0],
            std::pair(std::string("accuracy"), 28 / 32.));
}

TEST(Score, AccuracyOfEveryLabel) {
  const torch::Tensor target = torch::tensor({{0.f, 1.f}, {1.f, 1.f}}),
                      output = torch::tensor({{-3.f, 2.f}, {4.f, -1.f}});
  const train::Metrics found = metrics_of(Loss::kBinaryCrossEntropy, output, target);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].second, 0.75);
  EXPECT_EQ(found[2].second, 1);
  EXPECT_EQ(found[3].second, 0.5);
}

}  // namespace
}  // namespace tutti::models::script
