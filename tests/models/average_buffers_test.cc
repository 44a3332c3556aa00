#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include "tutti/comm/transport/thread/thread_world.h"
#include "tutti/models/nets/layer_stack.h"

namespace tutti::models {
namespace {

TEST(AverageBuffers, KeepsTypesAndIntegers) {
  comm::ThreadWorld world(3);
  world.run([&](comm::Transport& transport) {
    const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
    torch::nn::Module module("buffers");
    module.register_buffer("order", torch::arange(8));
    module.register_buffer("large", torch::tensor((std::int64_t{1} << 40) + transport.rank()));
    module.register_buffer("table", torch::full({2}, 1. / 3, torch::kFloat64));
    module.register_buffer("mean", torch::full({2}, float(transport.rank())));
    average_buffers(module, *communicator);
    const auto buffers = module.named_buffers();
    EXPECT_TRUE(torch::equal(buffers["order"], torch::arange(8)));
    EXPECT_EQ(buffers["large"].item<std::int64_t>(), std::int64_t{1} << 40);
    EXPECT_NEAR(buffers["table"][1].item<double>(), 1. / 3, 1e-15);
    EXPECT_EQ(buffers["mean"][0].item<float>(), 1);
  });
}

}  // namespace
}  // namespace tutti::models
