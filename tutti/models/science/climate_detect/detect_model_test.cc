// The network compared with its published size, its loss with a loop, its gradients with finite differences.
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "tutti/kernels/amx/amx.h"
#include "tutti/models/science/climate_detect/case.h"
#include "tutti/models/science/climate_detect/model.h"
#include "tutti/train/task.h"

namespace tutti::models::climate_detect {
namespace {

using torch::Tensor;
const kernels::Amx kAmx = [] {  // before the first convolution
  at::set_num_threads(1);       // tests run beside each other
  return kernels::prepare_amx();
}();

TEST(DetectModel, CountsAreThoseOfTheTable) {
  const NetworkShape shape;
  const auto layers = graph_of(shape).graph.layers();
  EXPECT_EQ(parameter_count(layers), 79194138);
  EXPECT_NEAR(double(parameter_count(layers)) * 4 / (1 << 20), 302.1, 0.01);
  EXPECT_NEAR(forward_flops(layers) * 1e-12, 0.411, 0.001);
  EXPECT_EQ(shape.cell(), 64);
  int convolutions = 0, transposed = 0;  // 9 and 5
  for (const Layer& layer : layers) (layer.is_transposed ? transposed : convolutions) += 1;
  EXPECT_EQ(convolutions, 9);
  EXPECT_EQ(transposed, 5);
}

NetworkShape tiny() {
  return {16, 24, 16, 4, {4, 6}, 5};
}

DetectorTargets some_targets() {
  DetectorTargets targets{torch::rand({2, 4, 2, 3}), torch::zeros({2, 2, 3}),
                          torch::zeros({2, 2, 3}, torch::kInt64), torch::ones({2})};
  targets.has_storm[0][1][2] = 1;
  targets.kind[0][1][2] = 3;
  targets.has_storm[1][0][0] = 1;
  return targets;
}

TEST(DetectModel, ShapesOfItsOutputs) {
  Network network(tiny(), 1, torch::kFloat32);
  const DetectorOutput output = network.forward(torch::randn({2, 16, 16, 24}), true);
  EXPECT_EQ(output.boxes.sizes(), (std::vector<std::int64_t>{2, 4, 2, 3}));
  EXPECT_EQ(output.kind.sizes(), (std::vector<std::int64_t>{2, 4, 2, 3}));
  EXPECT_EQ(output.drawn.sizes(), (std::vector<std::int64_t>{2, 16, 16, 24}));
  EXPECT_FALSE(network.forward(torch::randn({2, 16, 16, 24}), false).drawn.defined());
}

// The forward pass written out for two stages.
TEST(DetectModel, AgreesWithItsDescription) {
  Network network(tiny(), 4, torch::kFloat32);
  torch::manual_seed(2);
  const torch::NoGradGuard no_gradients;
  for (Tensor& parameter : network.parameters())
    if (parameter.dim() == 1) parameter.add_(torch::rand_like(parameter));
  network.set_scale(std::vector<float>(16, 3), std::vector<float>(16, 2));
  const auto p = network.named_parameters();
  auto conv = [&](const std::string& name, const Tensor& x, int stride) {
    const Tensor weight = p[name + "_weight"];
    return torch::conv2d(x, weight, p[name + "_bias"], stride, weight.size(2) / 2);
  };
  auto draw = [&](const std::string& name, const Tensor& x) {
    return torch::conv_transpose2d(x, p[name + "_weight"], p[name + "_bias"], 2, 2, 1);
  };
  auto leaky = [](const Tensor& x) { return torch::max(x, 0.1 * x); };
  const Tensor fields = 3 + 2 * torch::randn({2, 16, 16, 24}), scaled = (fields - 3) / 2;
  const Tensor map = leaky(conv("encode1", leaky(conv("encode0", scaled, 2)), 2));
  const Tensor code = leaky(conv("code", map, 2));
  const DetectorOutput output = network.forward(fields, true);
  auto near = [](const Tensor& a, const Tensor& b) { return torch::allclose(a, b, 1e-3, 1e-4); };
  EXPECT_TRUE(near(output.scaled, scaled));
  EXPECT_TRUE(near(output.boxes, conv("place", code, 1)));
  EXPECT_TRUE(near(output.has_storm, conv("has_storm", code, 1)));
  EXPECT_TRUE(near(output.kind, conv("kind", code, 1)));
  EXPECT_TRUE(near(output.drawn, draw("draw0", leaky(draw("draw1", map)))));
}

// The loss as a loop over cells and values.
TEST(DetectModel, LossByHand) {
  torch::manual_seed(3);
  Network network(tiny(), 1, torch::kFloat32);
  const DetectorOutput output = network.forward(torch::randn({2, 16, 16, 24}), true);
  DetectorTargets targets = some_targets();
  targets.is_labelled[1] = 0;  // the second frame is only drawn
  auto smooth = [](double d) { return std::abs(d) < 1 ? d * d / 2 : std::abs(d) - 0.5; };
  double expected = 0;
  for (int row = 0; row < 2; ++row)
    for (int column = 0; column < 3; ++column) {
      const Tensor sure =
          torch::log_softmax(output.has_storm[0], 0).select(2, column).select(1, row);
      if (targets.has_storm[0][row][column].item<float>() == 0) {
        expected -= 0.5 * sure[1].item<double>();
        continue;
      }
      expected -= sure[0].item<double>();
      for (int i = 0; i < 4; ++i)
        expected += (i < 2 ? 5 : 7) *
                    smooth((output.boxes[0][i][row][column] - targets.boxes[0][i][row][column])
                               .item<double>());
      expected -= torch::log_softmax(output.kind[0], 0)[3][row][column].item<double>();
    }
  const double alone = loss_of(output, targets, 0).item<double>();
  EXPECT_NEAR(alone, expected, 1e-3);
  const double squares = (output.drawn - output.scaled).square().mean().item<double>();
  EXPECT_NEAR(loss_of(output, targets, 10).item<double>(), alone + 10 * squares, 1e-3);
  targets.is_labelled.zero_();
  EXPECT_EQ(loss_of(output, targets, 0).item<double>(), 0);
}

TEST(DetectModel, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(4);
  Network network(tiny(), 2, torch::kFloat64);
  network.to(torch::kFloat64);
  const Tensor input = torch::randn({2, 16, 16, 24}, torch::kFloat64);
  DetectorTargets targets = some_targets();
  for (Tensor* one : {&targets.boxes, &targets.has_storm, &targets.is_labelled})
    *one = one->to(torch::kFloat64);
  auto loss = [&] { return loss_of(network.forward(input, true), targets, 10); };
  loss().backward();
  for (Tensor& parameter : network.parameters()) {
    const Tensor step = torch::randn_like(parameter);
    const double expected = (parameter.grad() * step).sum().item<double>();
    EXPECT_NE(expected, 0);
    const torch::NoGradGuard no_gradients;
    constexpr double kStep = 1e-6;
    parameter.add_(step, kStep);
    const double above = loss().item<double>();
    parameter.add_(step, -2 * kStep);
    const double below = loss().item<double>();
    parameter.add_(step, kStep);
    EXPECT_NEAR((above - below) / (2 * kStep), expected, 0.01 * std::abs(expected) + 1e-4);
  }
}

TEST(DetectTask, OverfitsOneBatch) {
  const OptionTable table = case_info().table();
  const Options options = train::resolve(case_info(), table, {{"size", "tiny"}});
  const auto task = make_task(options);
  const train::Batch batch = task->random_batch(2);
  const double before = task->loss(batch, 1).item<double>();
  for (int i = 0; i < 30; ++i) {
    task->model().zero_grad();
    task->loss(batch, 1).backward();
    const torch::NoGradGuard no_gradients;
    for (Tensor& parameter : task->model().parameters()) parameter.sub_(parameter.grad(), 0.002);
  }
  EXPECT_LT(task->loss(batch, 1).item<double>(), 0.8 * before);
  const Options supervised =
      train::resolve(case_info(), table, {{"size", "tiny"}, {"reconstruction", "0"}});
  EXPECT_LT(make_task(supervised)->flops_per_sample(), task->flops_per_sample());
}

}  // namespace
}  // namespace tutti::models::climate_detect
