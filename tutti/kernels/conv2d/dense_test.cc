// Compares dense blocks with libtorch's convolutions of concatenated images, forward and backward.
#include "tutti/kernels/conv2d/dense.h"

#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <numeric>

namespace tutti::kernels {
namespace {

using torch::Tensor;

constexpr double kTolerance = 1e-5;

double relative_error(const Tensor& ours, const Tensor& exact) {
  return ((ours.to(torch::kFloat64) - exact).norm() / exact.norm()).item<double>();
}

// Fills memory with NaN and frees it, so reads of uninitialised memory are detected.
void spoil_memory() {
  std::vector<Tensor> all;
  for (std::int64_t size = 64; size <= 1 << 22; size *= 2)
    all.push_back(torch::full({size}, std::nan("")));
}

struct Block {
  std::vector<std::int64_t> in;  // channels of each input
  std::int64_t filters, layers, height, width, kernel = 3;
};

struct Leaves {
  explicit Leaves(const Block& block) {
    const std::int64_t in = std::accumulate(block.in.begin(), block.in.end(), std::int64_t{0});
    for (std::int64_t i = 0; i < block.layers; ++i) {
      weights.push_back(
          torch::randn({block.filters, in + i * block.filters, block.kernel, block.kernel}) / 10);
      biases.push_back(torch::randn({block.filters}));
    }
    for (std::int64_t channels : block.in)
      inputs.push_back(torch::randn({2, channels, block.height, block.width})
                           .contiguous(at::MemoryFormat::ChannelsLast));
    for (const Tensor& leaf : all()) leaf.requires_grad_();
  }
  std::vector<Tensor> all() const {
    std::vector<Tensor> leaves = weights;
    leaves.insert(leaves.end(), biases.begin(), biases.end());
    leaves.insert(leaves.end(), inputs.begin(), inputs.end());
    return leaves;
  }
  std::vector<Tensor> weights, biases, inputs;
};

// Reference in f64 with concatenated inputs. The ReLU mask is taken from `ours`: near zero the sign depends on
// rounding.
Tensor exact_block(const Leaves& leaves, const Tensor& ours) {
  Tensor features = torch::cat(leaves.inputs, 1).to(torch::kFloat64);
  std::int64_t first = features.size(1);
  const std::int64_t before = first;
  for (std::size_t i = 0; i < leaves.weights.size(); ++i) {
    const Tensor weight = leaves.weights[i].to(torch::kFloat64);
    const Tensor sum = torch::conv2d(features, weight, leaves.biases[i].to(torch::kFloat64), 1,
                                     weight.size(2) / 2);
    const Tensor is_positive = ours.narrow(1, first - before, weight.size(0)) > 0;
    features = torch::cat({features, sum * is_positive}, 1);
    first += weight.size(0);
  }
  return features;
}

class DenseConv : public testing::TestWithParam<Block> {};

TEST_P(DenseConv, AgreesWithF64) {
  torch::manual_seed(1);
  const Leaves leaves(GetParam());
  spoil_memory();
  const DenseFeatures features_out =
      dense_conv(leaves.inputs, leaves.weights, leaves.biases, torch::kFloat32);
  const Tensor added = torch::cat(features_out.added, 1);
  std::vector<Tensor> features = features_out.inputs;
  features.push_back(added);
  const Tensor ours = torch::cat(features, 1), exact = exact_block(leaves, added.detach());
  EXPECT_LT(relative_error(ours, exact), kTolerance);
  EXPECT_GE(added.min().item<float>(), 0);
  // Once with layers after the block that read all features, once with layers that read only its output.
  const std::int64_t in = exact.size(1) - added.size(1);
  for (bool sees_inputs : {true, false}) {
    const Tensor g = torch::randn(exact.sizes());
    if (!sees_inputs) g.narrow(1, 0, in).zero_();
    const auto expected =
        torch::autograd::grad({exact}, leaves.all(), {g.to(torch::kFloat64)}, true);
    spoil_memory();
    const auto found = sees_inputs ? torch::autograd::grad({ours}, leaves.all(), {g}, true)
                                   : torch::autograd::grad({added}, leaves.all(),
                                                           {g.narrow(1, in, added.size(1))}, true);
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_LT(relative_error(found[i], expected[i].to(torch::kFloat64)), kTolerance) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, DenseConv,
                         testing::Values(Block{{16}, 16, 1, 8, 8}, Block{{32}, 16, 2, 9, 13},
                                         Block{{64, 16, 7}, 20, 3, 10, 6},  // no full panel
                                         Block{{32, 64}, 16, 5, 26, 27},
                                         Block{{16, 3}, 8, 2, 7, 9},     // too few filters
                                         Block{{16}, 16, 2, 9, 8, 5}));  // another kernel size

// Input of a layer with kernel 1 and stride 2, for even and odd image sizes.
TEST(DenseConv, GivesEvenPixelsWithTheirGradients) {
  using torch::indexing::Slice;
  for (std::int64_t width : {8, 9}) {
    torch::manual_seed(4);
    const Leaves leaves({{16, 24}, 16, 3, 6, width});
    const DenseFeatures features_out =
        dense_conv(leaves.inputs, leaves.weights, leaves.biases, torch::kFloat32, true);
    const Tensor exact = exact_block(leaves, features_out.added[0].detach());
    const Tensor even = exact.index(
        {Slice(), Slice(), Slice(0, torch::indexing::None, 2), Slice(0, torch::indexing::None, 2)});
    EXPECT_LT(relative_error(features_out.even, even), kTolerance);
    const Tensor g = torch::randn(even.sizes()), g_first = torch::randn(leaves.inputs[0].sizes());
    const auto alone = torch::autograd::grad({features_out.even}, leaves.all(), {g}, true),
               beside = torch::autograd::grad({features_out.even, features_out.inputs[0]},
                                              leaves.all(), {g, g_first}, true);
    const auto expected =
        torch::autograd::grad({even}, leaves.all(), {g.to(torch::kFloat64)}, true);
    const std::size_t first = 2 * leaves.weights.size();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Tensor exact_alone = expected[i].to(torch::kFloat64);
      EXPECT_LT(relative_error(alone[i], exact_alone), kTolerance) << i;
      EXPECT_LT(relative_error(beside[i], i == first ? exact_alone + g_first : exact_alone),
                kTolerance)
          << i;
    }
  }
}

TEST(DenseConv, GradientOfOneInputDoesNotReachTheOthers) {
  torch::manual_seed(2);
  const Leaves leaves({{16, 16}, 16, 2, 6, 6});
  const DenseFeatures features_out =
      dense_conv(leaves.inputs, leaves.weights, leaves.biases, torch::kFloat32);
  const Tensor g = torch::randn({2, 16, 6, 6});
  const auto found = torch::autograd::grad({features_out.inputs[1]}, leaves.inputs, {g});
  EXPECT_EQ(found[0].abs().max().item<float>(), 0);
  EXPECT_TRUE(torch::equal(found[1], g));
}

std::vector<Tensor> step_on_threads(int count, const Leaves& leaves) {
  const int before = at::get_num_threads();
  at::set_num_threads(count);
  const DenseFeatures features_out =
      dense_conv(leaves.inputs, leaves.weights, leaves.biases, torch::kFloat32);
  auto all = torch::autograd::grad({features_out.added[0]}, leaves.all(),
                                   {torch::ones_like(features_out.added[0])});
  all.push_back(features_out.added[0]);
  at::set_num_threads(before);
  return all;
}

TEST(DenseConv, HasTheSameBitsOnAnyNumberOfThreads) {
  torch::manual_seed(3);
  const Leaves leaves({{32, 16}, 16, 3, 26, 27});
  const auto one = step_on_threads(1, leaves), three = step_on_threads(3, leaves);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(torch::equal(one[i], three[i])) << i;
}

}  // namespace
}  // namespace tutti::kernels
