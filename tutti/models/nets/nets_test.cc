// Layers compared with libtorch's modules and with finite differences.
#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/script.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <sstream>

#include "tutti/kernels/amx/amx.h"
#include "tutti/kernels/conv2d/conv.h"
#include "tutti/models/nets/layer_stack.h"
#include "tutti/models/nets/task_parts.h"

namespace tutti::models {
namespace {

const kernels::Amx kAmx = [] {  // before the first convolution
  at::set_num_threads(1);       // tests run beside each other
  return kernels::prepare_amx();
}();

std::vector<Layer> some_layers() {
  return {{.name = "first",
           .in = 2,
           .out = 4,
           .kernel = 3,
           .stride = 2,
           .height = 4,
           .width = 6,
           .has_bias = false,
           .has_norm = true},
          {.name = "wide", .in = 4, .out = 4, .kernel = 3, .dilation = 2, .height = 4, .width = 6},
          {.name = "norm", .in = 4, .out = 4, .kernel = 0},
          {.name = "up",
           .in = 4,
           .out = 3,
           .kernel = 5,
           .stride = 2,
           .height = 8,
           .width = 12,
           .is_transposed = true}};
}

torch::Tensor run(LayerStack& stack, torch::Tensor x) {
  for (const Layer& layer : stack.layers()) x = stack.apply(layer.name, x);
  return x;
}

TEST(Layers, AreCountedOnCreation) {
  const std::vector<Layer> layers = some_layers();
  EXPECT_EQ(parameter_count(layers), 2 * 4 * 9 + 8 + 4 * 4 * 9 + 4 + 8 + 4 * 3 * 25 + 3);
  LayerStack stack(layers, 1, torch::kFloat32);
  std::int64_t count = 0;
  for (const torch::Tensor& parameter : stack.parameters()) count += parameter.numel();
  EXPECT_EQ(count, parameter_count(layers));
  EXPECT_EQ(forward_flops(layers), 2.0 * 24 * (2 * 4 * 9 + 4 * 4 * 9 + 4 * 3 * 25));
  EXPECT_EQ(train_flops(layers), 3 * forward_flops(layers) - 2.0 * 24 * 2 * 4 * 9);
  EXPECT_EQ(train_flops({}), 0);
  EXPECT_THROW(stack.apply("none", torch::zeros({1, 2, 8, 12})), std::out_of_range);
}

TEST(LayerStack, ComputesTheSameAsModules) {
  namespace nn = torch::nn;
  LayerStack stack(some_layers(), 2, torch::kFloat32);
  const auto p = stack.named_parameters();
  nn::Conv2d first(nn::Conv2dOptions(2, 4, 3).stride(2).padding(1).bias(false));
  nn::Conv2d wide(nn::Conv2dOptions(4, 4, 3).padding(2).dilation(2));
  nn::ConvTranspose2d up(
      nn::ConvTranspose2dOptions(4, 3, 5).stride(2).padding(2).output_padding(1));
  nn::BatchNorm2d norm1(4), norm2(4);
  const torch::NoGradGuard no_gradients;
  first->weight.copy_(p["first_weight"]);
  wide->weight.copy_(p["wide_weight"]);
  wide->bias.fill_(0.5);
  p["wide_bias"].fill_(0.5);
  up->weight.copy_(p["up_weight"]);
  up->bias.zero_();
  for (int i = 0; i < 2; ++i) {  // the second time with the running statistics of the norms
    const torch::Tensor x = torch::randn({3, 2, 8, 12});
    const torch::Tensor theirs = up(norm2(wide(norm1(first(x)))));
    const torch::Tensor ours = run(stack, x);
    ASSERT_EQ(ours.sizes(), (std::vector<std::int64_t>{3, 3, 8, 12}));
    EXPECT_TRUE(torch::allclose(ours, theirs, 1e-4, 1e-5));
    stack.eval();
    norm1->eval();
    norm2->eval();
  }
}

TEST(Graph, BranchesAndJoinsRunAsDescribed) {
  Graph graph(2, 8, 12);
  const Graph::Id a = graph.layer({.name = "a", .out = 4, .kernel = 3, .stride = 2},
                                  {Graph::kInput}, Activation::kRelu),
                  b = graph.layer({.name = "b", .out = 4}, {a}, Activation::kLeaky),
                  sum = graph.add(b, a, Activation::kRelu), pool = graph.max_pool(sum, 3, 2),
                  mean = graph.layer({.name = "mean", .out = 3}, {graph.mean(pool)}),
                  last = graph.layer({.name = "last", .out = 2, .kernel = 3},
                                     {pool, graph.expand(mean, pool)});
  EXPECT_EQ(graph.cuts(), (std::vector<Graph::Id>{a}));  // `pool` is needed until `last`
  EXPECT_EQ(graph.layers()[3].in, 7);
  EXPECT_EQ(graph.layers()[3].height * 10 + graph.layers()[3].width, 23);
  EXPECT_TRUE(graph.layers()[0].sees_input);
  LayerStack stack(graph.layers(), 1, torch::kFloat32);
  const torch::NoGradGuard no_gradients;
  const torch::Tensor input = torch::randn({3, 2, 8, 12});
  const torch::Tensor first = stack.apply("a", input, true),
                      joint = (torch::leaky_relu(stack.apply("b", first), 0.1) + first).relu(),
                      pooled = torch::max_pool2d(joint, 3, 2, 1),
                      one = stack.apply("mean", pooled.mean({2, 3}, true)),
                      whole = stack.apply("last", {pooled, one.expand({3, 3, 2, 3})});
  EXPECT_TRUE(torch::equal(stack.run(graph, input), whole));
  const std::vector<torch::Tensor> two = stack.run(graph, input, std::vector{mean, sum});
  EXPECT_TRUE(torch::equal(two[0], one));
  EXPECT_TRUE(torch::equal(two[1], joint));
  torch::Tensor x = input;
  std::size_t tensors = 0;
  for (const train::Layer& part : stack.parts(graph)) {
    x = part.forward(x, 0);
    tensors += part.tensors;
  }
  EXPECT_TRUE(torch::equal(x, whole));
  EXPECT_EQ(tensors, stack.parameters().size());
  EXPECT_EQ(last, graph.last());
}

TEST(LayerStack, GradientsAreThoseOfFiniteDifferences) {
  LayerStack stack(some_layers(), 3, torch::kFloat32);
  torch::manual_seed(1);
  const torch::Tensor x = torch::randn({2, 2, 8, 12}), direction = torch::randn({2, 3, 8, 12});
  auto value = [&] { return (run(stack, x) * direction).sum(); };
  value().backward();
  for (torch::Tensor& parameter : stack.parameters()) {
    const torch::Tensor step = torch::randn_like(parameter);
    const double expected = (parameter.grad() * step).sum().item<double>();
    const torch::NoGradGuard no_gradients;
    constexpr double kStep = 3e-3;
    parameter.add_(step, kStep);
    const double above = value().item<double>();
    parameter.add_(step, -2 * kStep);
    const double below = value().item<double>();
    parameter.add_(step, kStep);
    EXPECT_NEAR((above - below) / (2 * kStep), expected, 0.02 * std::abs(expected) + 0.1);
  }
}

// With so many channels that they go by Winograd's transform, from two inputs.
TEST(LayerStack, DoublesAsLibtorchDoes) {
  for (int kernel : {3, 5}) {
    LayerStack stack({{.name = "up",
                       .in = 24,
                       .out = 20,
                       .kernel = kernel,
                       .stride = 2,
                       .height = 14,
                       .width = 18,
                       .is_transposed = true}},
                     6, torch::kFloat32);
    torch::manual_seed(2);
    const auto p = stack.named_parameters();
    p["up_bias"].data().uniform_();
    const std::vector<torch::Tensor> leaves = {torch::randn({2, 16, 7, 9}).requires_grad_(),
                                               torch::randn({2, 8, 7, 9}).requires_grad_(),
                                               p["up_weight"], p["up_bias"]};
    const torch::Tensor ours = stack.apply("up", {leaves[0], leaves[1]}),
                        exact = torch::conv_transpose2d(
                            torch::cat({leaves[0], leaves[1]}, 1).to(torch::kFloat64),
                            leaves[2].to(torch::kFloat64), leaves[3].to(torch::kFloat64), 2,
                            kernel / 2, 1);
    ASSERT_EQ(ours.sizes(), (std::vector<std::int64_t>{2, 20, 14, 18}));
    EXPECT_LT((ours - exact).norm().item<double>(), 1e-5 * exact.norm().item<double>());
    const torch::Tensor g = torch::randn(ours.sizes());
    const auto found = torch::autograd::grad({ours}, leaves, {g}),
               expected = torch::autograd::grad({exact}, leaves, {g.to(torch::kFloat64)});
    for (std::size_t i = 0; i < leaves.size(); ++i)
      EXPECT_LT((found[i] - expected[i]).norm().item<double>(),
                1e-5 * expected[i].norm().item<double>())
          << i;
  }
}

TEST(LayerStack, SmallNumbersStayNear) {
  LayerStack stack(some_layers(), 4, torch::kFloat32);
  const torch::Tensor x = torch::randn({2, 2, 8, 12}).contiguous(at::MemoryFormat::ChannelsLast);
  const torch::Tensor exact = run(stack, x);
  stack.compute_in(torch::kBFloat16);
  const torch::Tensor near = run(stack, x).to(torch::kFloat32);
  EXPECT_LT((near - exact).norm().item<double>(), 0.03 * exact.norm().item<double>());
}

TEST(ExportTraced, GivesTheSameForOtherBatches) {
  LayerStack stack(some_layers(), 5, torch::kFloat32);
  run(stack, torch::randn({4, 2, 8, 12}));  // norms see something
  stack.eval();
  std::stringstream file;
  export_traced(
      stack, [&](const torch::Tensor& x) { return run(stack, x); }, torch::zeros({1, 2, 8, 12}),
      file);
  torch::jit::Module script = torch::jit::load(file);
  const torch::Tensor x = torch::randn({3, 2, 8, 12});
  EXPECT_TRUE(torch::allclose(script.forward({x}).toTensor(), run(stack, x), 1e-4, 1e-5));
  EXPECT_EQ(script.parameters().size(), stack.parameters().size());
}

// Tracing does not record custom kernels.
TEST(ExportTraced, ExportsLayersWithCustomKernels) {
  torch::manual_seed(6);
  torch::nn::Module network("wide");
  const torch::Tensor w = network.register_parameter("w", torch::randn({16, 16, 3, 3})),
                      b = network.register_parameter("b", torch::randn({16})),
                      last_w = network.register_parameter("last_w", torch::randn({3, 32, 1, 1})),
                      last_b = network.register_parameter("last_b", torch::randn({3}));
  auto forward = [&](const torch::Tensor& x) {
    const torch::Tensor y = kernels::conv_same({x}, w, b, torch::kFloat32, {.has_relu = true});
    return kernels::conv_same({x, y}, last_w, last_b, torch::kFloat32);
  };
  std::stringstream file;
  export_traced(network, forward, torch::zeros({1, 16, 8, 12}), file);
  const torch::Tensor x = torch::randn({3, 16, 8, 12});
  const torch::NoGradGuard no_gradients;
  EXPECT_TRUE(
      torch::allclose(torch::jit::load(file).forward({x}).toTensor(), forward(x), 1e-3, 1e-3));
}

TEST(TaskParts, BatchesAreAssignedRoundRobin) {
  std::vector<std::vector<std::int64_t>> seen;
  for (int part : {1, 0})
    for_batches(5, 2, part, 2, [&](std::int64_t first, std::span<const std::int64_t> indices) {
      EXPECT_EQ(first, indices[0]);
      seen.emplace_back(indices.begin(), indices.end());
    });
  EXPECT_EQ(seen, (std::vector<std::vector<std::int64_t>>{{2, 3}, {0, 1}, {4}}));
}

// Generating a universe of the published size takes 5 GB on every rank that generates.
TEST(TaskParts, AsManyRanksGenerateDataAsFitIntoMemory) {
  EXPECT_EQ(ranks_that_fit(8, 0, 1), 8);
  EXPECT_EQ(ranks_that_fit(8, 5e9, 24e9), 4);
  EXPECT_EQ(ranks_that_fit(2, 5e9, 24e9), 2);
  EXPECT_EQ(ranks_that_fit(2, 5e9, 4e9), 0);
  EXPECT_EQ(ranks_that_fit(2, 5e9, std::numeric_limits<double>::infinity()), 2);
}

// 64 images of 224 x 224 would take more memory than a training step.
TEST(TaskParts, EvalBatchesOfLargeImagesAreSmaller) {
  EXPECT_EQ(eval_batch(32), 64);
  EXPECT_EQ(eval_batch(64), 64);
  EXPECT_EQ(eval_batch(224), 5);
  EXPECT_EQ(eval_batch(4096), 4);
}

TEST(TaskParts, MemoryDependsOnThePrecision) {
  constexpr ValueBytes bytes{.f32 = 6, .bf16 = 3};
  EXPECT_EQ(bytes.at(torch::kFloat32), 6);
  EXPECT_EQ(bytes.at(torch::kBFloat16), kernels::has_matrix_units() ? 3 : 6);
}

TEST(TaskParts, ValuesByName) {
  EXPECT_EQ(value_of({{"a", 1}, {"b", 2}}, "b"), 2);
  EXPECT_EQ(value_of({}, "b"), 0);
  EXPECT_EQ(data_folder("x").filename(), "x");
}

}  // namespace
}  // namespace tutti::models
