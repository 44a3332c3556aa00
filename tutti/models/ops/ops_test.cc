// Our operations against libtorch's own, forward and backward.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tutti/models/ops/amx.h"
#include "tutti/models/ops/conv.h"

namespace tutti::models {
namespace {

using torch::Tensor;

// Before the first convolution of the program.
const Amx kAmx = prepare_amx();

Tensor random_image(std::vector<std::int64_t> sizes) {
  return torch::randn(sizes).contiguous(at::MemoryFormat::ChannelsLast);
}

double relative_error(const Tensor& ours, const Tensor& theirs) {
  return ((ours.to(torch::kFloat64) - theirs.to(torch::kFloat64)).norm() /
          theirs.to(torch::kFloat64).norm())
      .item<double>();
}

struct ConvCase {
  std::int64_t in, out, kernel, height, width;
};
class ConvSame : public testing::TestWithParam<std::tuple<ConvCase, torch::ScalarType>> {};

TEST_P(ConvSame, AgreesWithF32) {
  const auto& [shape, dtype] = GetParam();
  torch::manual_seed(1);
  const bool first_layer = shape.in == 3;
  Tensor x = random_image({2, shape.in, shape.height, shape.width}).requires_grad_(!first_layer);
  Tensor w = torch::randn({shape.out, shape.in, shape.kernel, shape.kernel}).requires_grad_();
  Tensor b = torch::randn({shape.out}).requires_grad_();
  const Tensor g = random_image({2, shape.out, shape.height, shape.width});
  const Tensor ours = conv_same(x, w, b, dtype);
  ours.backward(g.to(ours.scalar_type()));
  const Tensor ours_x = first_layer ? Tensor() : x.grad().clone(), ours_w = w.grad().clone(),
               ours_b = b.grad().clone();
  for (Tensor& t : std::vector<Tensor>{x, w, b}) t.mutable_grad() = Tensor();
  const Tensor theirs = torch::conv2d(x, w, b, 1, shape.kernel / 2);
  theirs.backward(g);
  const double tolerance = dtype == torch::kFloat32 ? 1e-5 : 0.01;
  EXPECT_LT(relative_error(ours, theirs), tolerance);
  EXPECT_LT(relative_error(ours_w, w.grad()), tolerance);
  EXPECT_LT(relative_error(ours_b, b.grad()), 3 * tolerance);
  if (!first_layer) {
    EXPECT_LT(relative_error(ours_x, x.grad()), tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ConvSame,
    testing::Combine(testing::Values(ConvCase{3, 32, 3, 7, 9}, ConvCase{32, 64, 3, 6, 5},
                                     ConvCase{64, 32, 5, 4, 8}, ConvCase{8, 8, 3, 5, 5}),
                     testing::Values(torch::kFloat32, torch::kBFloat16)));

class PoolReluDrop : public testing::TestWithParam<torch::ScalarType> {};

TEST_P(PoolReluDrop, IsPoolThenRelu) {
  for (std::int64_t height : {6, 7}) {
    torch::manual_seed(2);
    Tensor x = random_image({2, 37, height, 4})
                   .to(GetParam())
                   .contiguous(at::MemoryFormat::ChannelsLast)
                   .requires_grad_();
    const Tensor ours = pool_relu_drop(x, 0, 1);
    const Tensor g = torch::randn(ours.sizes()).to(GetParam());
    ours.backward(g);
    const Tensor ours_gradient = x.grad().clone();
    x.mutable_grad() = Tensor();
    const Tensor theirs = torch::relu(torch::max_pool2d(x, 2));
    theirs.backward(g);
    EXPECT_TRUE(torch::equal(ours, theirs));
    EXPECT_TRUE(torch::equal(ours_gradient, x.grad()));
  }
}

TEST_P(PoolReluDrop, DropsTheShare) {
  Tensor x = torch::ones({4, 64, 16, 16})
                 .to(GetParam())
                 .contiguous(at::MemoryFormat::ChannelsLast)
                 .requires_grad_();
  const Tensor out = pool_relu_drop(x, 0.5, 7);
  EXPECT_NEAR(out.to(torch::kFloat32).mean().item<float>(), 0.5, 0.03);
  EXPECT_EQ(out.max().item<float>(), 1);
  // No channel and no pixel is preferred.
  for (const std::vector<std::int64_t>& over :
       {std::vector<std::int64_t>{0, 2, 3}, std::vector<std::int64_t>{1}}) {
    const torch::Tensor share = out.to(torch::kFloat32).mean(over);
    EXPECT_NEAR(
        share.std().item<float>(),
        std::sqrt(0.25f * static_cast<float>(share.numel()) / static_cast<float>(out.numel())),
        0.01);
  }
  out.backward(torch::ones_like(out));
  // What was dropped has no gradient; the first of four equal inputs has all of it.
  EXPECT_TRUE(torch::equal(x.grad().index({torch::indexing::Slice(), torch::indexing::Slice(),
                                           torch::indexing::Slice(0, torch::indexing::None, 2),
                                           torch::indexing::Slice(0, torch::indexing::None, 2)}),
                           out));
  EXPECT_TRUE(torch::equal(out, pool_relu_drop(x, 0.5, 7)));
  EXPECT_FALSE(torch::equal(out, pool_relu_drop(x, 0.5, 8)));
}

INSTANTIATE_TEST_SUITE_P(Types, PoolReluDrop, testing::Values(torch::kFloat32, torch::kBFloat16));

}  // namespace
}  // namespace tutti::models
