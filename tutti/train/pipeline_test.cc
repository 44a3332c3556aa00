#include "tutti/train/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tutti/train/internal/testing.h"

namespace tutti::train {
namespace {

using testing::ElementsAre;

TEST(PartitionLayers, MinimisesTheWorkOfTheBusiestStage) {
  EXPECT_THAT(partition_layers({1, 1, 1, 1}, 2), ElementsAre(0, 2, 4));
  EXPECT_THAT(partition_layers({10, 1, 1, 1}, 2), ElementsAre(0, 1, 4));
  EXPECT_THAT(partition_layers({1, 1, 1, 10}, 2), ElementsAre(0, 3, 4));
  EXPECT_THAT(partition_layers({4, 3, 2, 6, 1}, 3), ElementsAre(0, 2, 3, 5));
}

TEST(PartitionLayers, EveryStageHasALayer) {
  EXPECT_THAT(partition_layers({9, 1, 1}, 3), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(partition_layers({1, 1, 9}, 3), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(partition_layers({0, 0, 0}, 3), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(partition_layers({5}, 1), ElementsAre(0, 1));
}

// The second layer takes so long that the first stage has to wait for it.
class SlowEndTask : public ToyTask {
 public:
  std::vector<Layer> layers() override {
    std::vector<Layer> layers = ToyTask::layers();
    layers[1].forward = [last = layers[1].forward](const torch::Tensor& x, std::uint64_t seed) {
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
      return last(x, seed);
    };
    return layers;
  }
};

TEST(Pipeline, ReportsTheWaitingTimeOfAStage) {
  comm::ThreadWorld world(2);
  std::vector<double> waited(2);
  world.run([&](comm::Transport& transport) {
    const int rank = transport.rank();
    const auto communicator = comm::Communicator::create(world.transport(rank));
    SlowEndTask task;
    Pipeline pipeline(task, *communicator, {2, 1, false});
    const std::vector<std::int64_t> indices = {0, 1, 2, 3};
    waited[static_cast<std::size_t>(rank)] = pipeline.run(task.load(indices), 1, [] {}).waited;
  });
  EXPECT_GT(waited[0], 0.2);
}

}  // namespace
}  // namespace tutti::train
