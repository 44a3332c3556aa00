#include "tutti/train/parameters.h"

#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include "tutti/comm/transport/thread/thread_world.h"

namespace tutti::train {
namespace {

// A model with a buffer of each kind that networks have: f64 tables, counters, masks, means.
std::shared_ptr<torch::nn::Module> model_of(double shift) {
  auto model = std::make_shared<torch::nn::Module>("model");
  model->register_parameter("weight", torch::ones({2}));
  model->register_buffer("table", torch::full({3}, 1. / 3 + shift, torch::kFloat64));
  const auto count = static_cast<std::int64_t>(shift);
  model->register_buffer("count", torch::tensor({(std::int64_t{1} << 40) + 1 + count, count}));
  model->register_buffer("mask", torch::tensor({true, false, true}));
  model->register_buffer("mean", torch::full({2, 2}, shift).t());
  model->register_buffer("none", torch::zeros({0}));
  return model;
}

template <class Use>
void with_parameters(double shift, Use use) {
  comm::ThreadWorld world(1);
  world.run([&](comm::Transport&) {
    const auto communicator = comm::Communicator::create(world.transport(0));
    const auto model = model_of(shift);
    FlatParameters parameters(*model, *communicator, false);
    use(parameters, *model);
  });
}

TEST(FlatParameters, BuffersKeepTheirTypeAndEveryBit) {
  std::vector<std::byte> stored;
  with_parameters(
      2, [&](FlatParameters& parameters, torch::nn::Module&) { stored = parameters.buffers(); });
  with_parameters(7, [&](FlatParameters& parameters, torch::nn::Module& model) {
    parameters.set_buffers(stored);
    const auto expected = model_of(2);
    for (const auto& item : expected->named_buffers()) {
      const torch::Tensor found = model.named_buffers()[item.key()];
      EXPECT_EQ(found.scalar_type(), item.value().scalar_type()) << item.key();
      EXPECT_TRUE(torch::equal(found, item.value())) << item.key();
    }
    EXPECT_EQ(parameters.buffers(), stored);
  });
}

TEST(FlatParameters, TheMeanOfBuffersLeavesIntegersAsTheyAre) {
  std::vector<std::byte> all;
  for (double shift : {1, 3, 8})
    with_parameters(shift, [&](FlatParameters& parameters, torch::nn::Module&) {
      const std::vector<std::byte> mine = parameters.buffers();
      all.insert(all.end(), mine.begin(), mine.end());
    });
  with_parameters(0, [&](FlatParameters& parameters, torch::nn::Module& model) {
    parameters.set_buffers(parameters.mean_of_buffers(all));
    const auto buffers = model.named_buffers();
    EXPECT_EQ(buffers["count"][0].item<std::int64_t>(), (std::int64_t{1} << 40) + 2);
    EXPECT_TRUE(torch::equal(buffers["mask"], torch::tensor({true, false, true})));
    EXPECT_EQ(buffers["mean"][1][0].item<float>(), 4);
    EXPECT_NEAR(buffers["table"][2].item<double>(), 4 + 1. / 3, 1e-14);
  });
}

TEST(FlatParameters, BuffersOfOlderCheckpointsAreF32) {
  with_parameters(0, [&](FlatParameters& parameters, torch::nn::Module& model) {
    ASSERT_EQ(parameters.buffer_values(), 12);
    const std::vector<float> values = {0.5, 0.25, 2, 7, 9, 0, 1, 0, 1, 2, 3, 4};
    parameters.set_f32_buffers(values);
    const auto buffers = model.named_buffers();
    EXPECT_EQ(buffers["table"][1].item<double>(), 0.25);
    EXPECT_EQ(buffers["count"][1].item<std::int64_t>(), 9);
    EXPECT_TRUE(torch::equal(buffers["mask"], torch::tensor({false, true, false})));
    EXPECT_EQ(buffers["mean"][0][1].item<float>(), 2);
  });
}

}  // namespace
}  // namespace tutti::train
