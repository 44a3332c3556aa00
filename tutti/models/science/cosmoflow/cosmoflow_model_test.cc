// The networks against their published tables and an independent formulation.
#include <gtest/gtest.h>
#include <torch/nn/functional.h>
#include <torch/script.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <sstream>

#include "tutti/kernels/amx/amx.h"
#include "tutti/models/science/cosmoflow/model.h"

namespace tutti::models::cosmoflow {
namespace {

const kernels::Amx kAmx = kernels::prepare_amx();

NetworkShape small_shape(bool is_mlperf) {
  NetworkShape shape;
  shape.is_mlperf = is_mlperf;
  shape.volume = 32;
  shape.filters = 8;
  shape.dropout = 0;
  return shape;
}

TEST(CosmoflowModel, CountsAreThoseOfTheTables) {
  const NetworkShape paper;
  EXPECT_EQ(parameter_count(paper), 7041443);
  EXPECT_NEAR(forward_flops(paper) * 1e-9, 21.3, 0.05);
  EXPECT_NEAR(train_flops(paper) * 1e-9, 62, 0.5);
  const std::vector<Layer> all = layers(paper);
  ASSERT_EQ(all.size(), 7u);
  const int sides[] = {126, 60, 27, 6, 4, 3, 2};
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(all[i].side, sides[i]);
  NetworkShape mlperf;
  mlperf.is_mlperf = true;
  EXPECT_EQ(parameter_count(mlperf), 8907556);
  EXPECT_NEAR(forward_flops(mlperf) * 1e-9, 68.9, 0.1);
  Network network(paper, 1, torch::kFloat32);
  std::int64_t count = 0;
  for (const torch::Tensor& parameter : network.parameters()) count += parameter.numel();
  EXPECT_EQ(count, 7041443);
  NetworkShape half = paper;
  half.volume = 64;
  EXPECT_EQ(layers(half).size(), 4u);
  EXPECT_EQ(layers(half).back().pooled, 2);
  half.reads_means = true;
  EXPECT_EQ(dense_widths(half), (std::vector<int>{16 + 32 + 64 + 128, 2048, 256, 3}));
}

torch::Tensor by_modules(Network& network, const NetworkShape& shape, torch::Tensor x) {
  const auto p = network.named_parameters();
  const double slope = shape.is_mlperf ? 0.3 : 0.01;
  const auto all = layers(shape);
  std::vector<torch::Tensor> means;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string name = "conv" + std::to_string(i + 1);
    x = torch::leaky_relu(
        torch::conv3d(x, p[name + "_weight"], p[name + "_bias"], all[i].stride, all[i].padding),
        slope);
    if (all[i].has_pool) x = shape.is_mlperf ? torch::max_pool3d(x, 2) : torch::avg_pool3d(x, 2);
    means.push_back(torch::adaptive_avg_pool3d(x, {1, 1, 1}).flatten(1));
  }
  x = shape.reads_means ? torch::cat(means, 1) : x.flatten(1);
  for (int i = 1; i <= 3; ++i) {
    const std::string name = "dense" + std::to_string(i);
    x = torch::nn::functional::linear(x, p[name + "_weight"], p[name + "_bias"]);
    if (i < 3) x = torch::leaky_relu(x, slope);
  }
  return shape.is_mlperf ? torch::tanh(x) * 1.2 : x;
}

// Outputs and all gradients, in f32 closely; in bf16 other voxels may win the pooling of MLPerf's.
TEST(CosmoflowModel, AgreesWithPlainModules) {
  for (int kind = 0; kind < 4; ++kind)
    for (const auto& [dtype, tolerance] :
         {std::pair(torch::kFloat32, 1e-4), std::pair(torch::kBFloat16, 0.1)}) {
      NetworkShape shape = small_shape(kind & 1);
      shape.reads_means = kind & 2;
      torch::manual_seed(3);
      const torch::Tensor volumes = torch::rand({2, shape.channels(), 32, 32, 32}),
                          target = torch::randn({2, shape.outputs()});
      Network network(shape, 5, dtype);
      const torch::Tensor ours = network.forward(volumes);
      torch::mse_loss(ours, target).backward();
      std::vector<torch::Tensor> gradients;
      for (torch::Tensor& parameter : network.parameters()) {
        gradients.push_back(parameter.grad().clone());
        parameter.mutable_grad() = torch::Tensor();
      }
      const torch::Tensor theirs = by_modules(network, shape, volumes);
      torch::mse_loss(theirs, target).backward();
      EXPECT_LT((ours - theirs).norm().item<double>(), tolerance * theirs.norm().item<double>());
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        const torch::Tensor reference = network.parameters()[i].grad();
        EXPECT_LT((gradients[i] - reference).norm().item<double>(),
                  5 * tolerance * reference.norm().item<double>())
            << i << " " << kind;
      }
    }
}

TEST(CosmoflowModel, ComputesTheSameInSteps) {
  for (bool is_mlperf : {false, true})
    for (bool reads_means : {false, true}) {
      NetworkShape shape = small_shape(is_mlperf);
      shape.has_norm = true;
      shape.reads_means = reads_means;
      shape.dropout = 0.5;
      Network network(shape, 6, torch::kBFloat16);
      const torch::Tensor volumes = torch::rand({2, shape.channels(), 32, 32, 32});
      torch::Tensor x = volumes;
      double flops = 0;
      std::size_t buffers = 0;
      for (int step = 0; step < network.steps(); ++step) {
        x = network.forward_step(step, x, 7);
        flops += network.step_flops(step);
        buffers += network.step_buffers(step);
      }
      EXPECT_TRUE(torch::equal(x, network.forward(volumes, 7))) << is_mlperf << reads_means;
      EXPECT_EQ(flops, forward_flops(shape));
      EXPECT_EQ(buffers, network.buffers().size());
      EXPECT_EQ(2 * static_cast<std::size_t>(network.steps()), network.parameters().size());
    }
}

TEST(CosmoflowModel, DropoutOnlyInTraining) {
  NetworkShape shape = small_shape(false);
  shape.dropout = 0.5;
  Network network(shape, 1, torch::kFloat32);
  const torch::Tensor volumes = torch::rand({1, 1, 32, 32, 32});
  EXPECT_FALSE(torch::equal(network.forward(volumes, 1), network.forward(volumes, 2)));
  EXPECT_TRUE(torch::equal(network.forward(volumes, 1), network.forward(volumes, 1)));
  network.eval();
  EXPECT_TRUE(torch::equal(network.forward(volumes, 1), network.forward(volumes, 2)));
}

TEST(CosmoflowModel, ExportedScriptGivesPhysicalUnits) {
  for (bool is_mlperf : {false, true}) {
    NetworkShape shape = small_shape(is_mlperf);
    shape.has_norm = true;
    shape.reads_means = is_mlperf;
    Network network(shape, 2, torch::kFloat32);
    network.forward(torch::rand({3, shape.channels(), 32, 32, 32}));  // moves the running means
    network.eval();
    const std::vector<double> centres(std::size_t(shape.outputs()), 0.5),
        scales(std::size_t(shape.outputs()), 0.1);
    std::stringstream file;
    network.export_script(file, Input::kLog, centres, scales);
    const torch::Tensor volumes = torch::rand({1, shape.channels(), 32, 32, 32});
    const torch::Tensor out = torch::jit::load(file).forward({volumes}).toTensor();
    EXPECT_TRUE(
        torch::allclose(out, 0.5 + 0.1 * network.forward(torch::log1p(volumes)), 1e-3, 1e-4));
  }
}

}  // namespace
}  // namespace tutti::models::cosmoflow
