// The network against its published table and an independent formulation.
#include <gtest/gtest.h>
#include <torch/nn/functional.h>
#include <torch/script.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <sstream>

#include "tutti/kernels/amx/amx.h"
#include "tutti/models/science/hep/model.h"

namespace tutti::models::hep {
namespace {

const kernels::Amx kAmx = kernels::prepare_amx();  // before the first convolution

TEST(HepModel, CountsAreThoseOfTheTable) {
  const NetworkShape shape;
  EXPECT_EQ(parameter_count(layers(shape)), 594178);
  EXPECT_NEAR(forward_flops(layers(shape)) * 1e-9, 5.26, 0.01);
  EXPECT_NEAR(train_flops(layers(shape)) * 1e-9, 15.4, 0.05);
  NetworkShape small = shape;
  small.image = 64;
  EXPECT_NEAR(forward_flops(layers(small)) * 1e-9, 0.43, 0.005);
  EXPECT_NEAR(train_flops(layers(small)) * 1e-9, 1.26, 0.01);
  Network network(shape, 1, torch::kFloat32);
  std::int64_t count = 0;
  for (const torch::Tensor& parameter : network.parameters()) count += parameter.numel();
  EXPECT_EQ(count, 594178);
}

torch::Tensor by_modules(Network& network, torch::Tensor x) {
  const auto p = network.named_parameters();
  for (int i = 1; i <= 5; ++i) {
    const std::string name = "conv" + std::to_string(i);
    x = torch::relu(torch::conv2d(x, p[name + "_weight"], p[name + "_bias"], 1, 1));
    if (i < 5) x = torch::max_pool2d(x, 2);
  }
  return torch::nn::functional::linear(torch::adaptive_avg_pool2d(x, {1, 1}).flatten(1),
                                       p["linear_weight"], p["linear_bias"]);
}

// Scores and all gradients, in f32 closely; in bf16 other pixels may win the pooling.
TEST(HepModel, AgreesWithPlainModules) {
  NetworkShape shape;
  shape.image = 32;
  shape.filters = 32;
  shape.dropout = 0;
  torch::manual_seed(3);
  const torch::Tensor images =
      torch::randn({4, 3, 32, 32}).contiguous(at::MemoryFormat::ChannelsLast);
  const torch::Tensor labels = torch::tensor({0, 1, 1, 0}, torch::kInt64);
  for (const auto& [dtype, tolerance] :
       {std::pair(torch::kFloat32, 1e-4), std::pair(torch::kBFloat16, 0.1)}) {
    Network network(shape, 5, dtype);
    const torch::Tensor ours = network.forward(images);
    torch::cross_entropy_loss(ours, labels).backward();
    std::vector<torch::Tensor> gradients;
    for (torch::Tensor& parameter : network.parameters()) {
      gradients.push_back(parameter.grad().clone());
      parameter.mutable_grad() = torch::Tensor();
    }
    const torch::Tensor theirs = by_modules(network, images);
    torch::cross_entropy_loss(theirs, labels).backward();
    EXPECT_LT((ours - theirs).norm().item<double>(), tolerance * theirs.norm().item<double>());
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const torch::Tensor reference = network.parameters()[i].grad();
      EXPECT_LT((gradients[i] - reference).norm().item<double>(),
                2 * tolerance * reference.norm().item<double>())
          << i;
    }
  }
}

TEST(HepModel, ExportedNetworkGivesTheSameScores) {
  NetworkShape shape;
  shape.image = 16;
  shape.filters = 8;
  Network network(shape, 1, torch::kFloat32);
  network.eval();
  std::stringstream file;
  network.export_script(file);
  const torch::Tensor raw = torch::rand({2, 3, 16, 16}) * 100;
  torch::jit::Module script = torch::jit::load(file);
  const torch::Tensor theirs = script.forward({raw}).toTensor();
  const torch::Tensor ours = torch::softmax(network.forward(torch::log1p(raw) / 5), 1);
  EXPECT_TRUE(torch::allclose(ours, theirs, 1e-4, 1e-5));
}

TEST(HepModel, DropoutOnlyInTraining) {
  NetworkShape shape;
  shape.image = 16;
  shape.filters = 8;
  Network network(shape, 1, torch::kFloat32);
  const torch::Tensor images = torch::rand({2, 3, 16, 16});
  EXPECT_FALSE(torch::equal(network.forward(images, 1), network.forward(images, 2)));
  EXPECT_TRUE(torch::equal(network.forward(images, 1), network.forward(images, 1)));
  network.eval();
  EXPECT_TRUE(torch::equal(network.forward(images, 1), network.forward(images, 2)));
}

}  // namespace
}  // namespace tutti::models::hep
