// Compares convolutions with few output channels with those of libtorch in f64, forward and backward.
#include "tutti/kernels/conv2d/narrow_pointwise_conv.h"

#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <numeric>

namespace tutti::kernels {
namespace {

using torch::Tensor;

struct Shape {
  std::vector<std::int64_t> in;  // channels of each input
  std::int64_t out, images, height, width;
};
class NarrowPointwiseConv : public testing::TestWithParam<Shape> {};

std::vector<Tensor> leaves_of(const Shape& shape) {
  std::vector<Tensor> leaves = {
      torch::randn(
          {shape.out, std::accumulate(shape.in.begin(), shape.in.end(), std::int64_t{0}), 1, 1}),
      torch::randn({shape.out})};
  for (std::int64_t channels : shape.in)
    leaves.push_back(torch::randn({shape.images, channels, shape.height, shape.width})
                         .contiguous(at::MemoryFormat::ChannelsLast));
  for (const Tensor& leaf : leaves) leaf.requires_grad_();
  return leaves;
}

double relative_error(const Tensor& ours, const Tensor& exact) {
  return ((ours.to(torch::kFloat64) - exact).norm() / exact.norm()).item<double>();
}

TEST_P(NarrowPointwiseConv, AgreesWithF64) {
  torch::manual_seed(1);
  const std::vector<Tensor> leaves = leaves_of(GetParam());
  const at::TensorList inputs = at::TensorList(leaves).slice(2);
  const Tensor ours = narrow_pointwise_conv(inputs, leaves[0], leaves[1]);
  const Tensor exact = torch::conv2d(torch::cat(inputs, 1).to(torch::kFloat64),
                                     leaves[0].to(torch::kFloat64), leaves[1].to(torch::kFloat64));
  ASSERT_EQ(ours.sizes(), exact.sizes());
  EXPECT_LT(relative_error(ours, exact), 1e-6);
  const Tensor g = torch::randn(ours.sizes());
  const auto found = torch::autograd::grad({ours}, leaves, {g}),
             expected = torch::autograd::grad({exact}, leaves, {g.to(torch::kFloat64)});
  for (std::size_t i = 0; i < leaves.size(); ++i)
    EXPECT_LT(relative_error(found[i], expected[i].to(torch::kFloat64)), 1e-6) << i;
}

INSTANTIATE_TEST_SUITE_P(Shapes, NarrowPointwiseConv,
                         testing::Values(Shape{{1}, 1, 1, 1, 1}, Shape{{5}, 8, 1, 3, 7},
                                         Shape{{32, 16, 7}, 3, 2, 13, 29},
                                         Shape{{128}, 2, 3, 30, 31}));

TEST(NarrowPointwiseConv, ReadsSlicesOfAnImage) {
  torch::manual_seed(2);
  const Tensor image = torch::randn({2, 40, 6, 21}).contiguous(at::MemoryFormat::ChannelsLast);
  const std::vector<Tensor> parts = {image.narrow(1, 3, 16), image.narrow(1, 20, 11)};
  const Tensor weight = torch::randn({3, 27, 1, 1}), bias = torch::randn({3});
  const Tensor exact = torch::conv2d(torch::cat(parts, 1).to(torch::kFloat64),
                                     weight.to(torch::kFloat64), bias.to(torch::kFloat64));
  EXPECT_LT(relative_error(narrow_pointwise_conv(parts, weight, bias), exact), 1e-6);
}

std::vector<Tensor> step_on_threads(int count, const std::vector<Tensor>& leaves) {
  const int before = at::get_num_threads();
  at::set_num_threads(count);
  const Tensor out = narrow_pointwise_conv(at::TensorList(leaves).slice(2), leaves[0], leaves[1]);
  auto all = torch::autograd::grad({out}, leaves, {torch::ones_like(out)});
  all.push_back(out);
  at::set_num_threads(before);
  return all;
}

TEST(NarrowPointwiseConv, HasTheSameBitsOnAnyNumberOfThreads) {
  torch::manual_seed(3);
  const std::vector<Tensor> leaves = leaves_of({{32, 16}, 3, 2, 26, 27});
  const auto one = step_on_threads(1, leaves), three = step_on_threads(3, leaves);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(torch::equal(one[i], three[i])) << i;
}

}  // namespace
}  // namespace tutti::kernels
