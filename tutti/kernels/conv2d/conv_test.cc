// Compares the operations with those of libtorch, forward and backward.
#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <numeric>

#include "tutti/kernels/amx/amx.h"
#include "tutti/kernels/conv2d/conv.h"

namespace tutti::kernels {
namespace {

using torch::Tensor;

// Must run before the first convolution of the program.
const Amx kAmx = prepare_amx();

Tensor random_image(std::vector<std::int64_t> sizes) {
  return torch::randn(sizes).contiguous(at::MemoryFormat::ChannelsLast);
}

double relative_error(const Tensor& ours, const Tensor& theirs) {
  return ((ours.to(torch::kFloat64) - theirs.to(torch::kFloat64)).norm() /
          theirs.to(torch::kFloat64).norm())
      .item<double>();
}

// Fills memory with NaN and frees it, so reads of uninitialised memory are detected.
void spoil_memory() {
  std::vector<Tensor> all;
  for (std::int64_t size = 64; size <= 1 << 20; size *= 2)
    all.push_back(torch::full({size}, std::nan(""), torch::kBFloat16));
}

struct ConvCase {
  std::vector<std::int64_t> in;  // channels of each input
  std::int64_t out, kernel, height, width;
  ConvOptions options = {};
};
class ConvSame : public testing::TestWithParam<std::tuple<ConvCase, torch::ScalarType>> {};

TEST_P(ConvSame, AgreesWithF32) {
  const auto& [shape, dtype] = GetParam();
  torch::manual_seed(1);
  const bool is_first_layer = shape.in[0] == 3;
  std::vector<Tensor> inputs;
  for (std::int64_t channels : shape.in)
    inputs.push_back(
        random_image({2, channels, shape.height, shape.width}).requires_grad_(!is_first_layer));
  const std::int64_t in = std::accumulate(shape.in.begin(), shape.in.end(), std::int64_t{0});
  Tensor w = torch::randn({shape.out, in, shape.kernel, shape.kernel}).requires_grad_();
  Tensor b = torch::randn({shape.out}).requires_grad_();
  const Tensor theirs =
      torch::conv2d(torch::cat(inputs, 1), w, b, shape.options.stride,
                    shape.kernel / 2 * shape.options.dilation, shape.options.dilation);
  spoil_memory();
  const Tensor ours = conv_same(inputs, w, b, dtype, shape.options);
  const double tolerance = dtype == torch::kFloat32 ? 1e-5 : 0.01;
  EXPECT_LT(relative_error(ours, shape.options.has_relu ? torch::relu(theirs) : theirs), tolerance);
  std::vector<Tensor> leaves = {w, b};
  if (!is_first_layer) leaves.insert(leaves.end(), inputs.begin(), inputs.end());
  const Tensor g = torch::randn(ours.sizes());
  // The ReLU mask is taken from the tested result: near zero the sign depends on rounding.
  const Tensor masked = shape.options.has_relu ? g * (ours > 0) : g;
  const auto expected = torch::autograd::grad({theirs}, leaves, {masked});
  const auto found = torch::autograd::grad({ours}, leaves, {g.to(ours.scalar_type())});
  for (std::size_t i = 0; i < leaves.size(); ++i)
    EXPECT_LT(relative_error(found[i], expected[i]), (i == 1 ? 3 : 1) * tolerance) << i;
}

const ConvCase kConvCases[] = {
    {{3}, 32, 3, 7, 9},
    {{32}, 64, 3, 6, 5},
    {{64}, 32, 5, 4, 8},
    {{8}, 8, 3, 5, 5},
    {{1}, 1, 1, 1, 1},
    {{5}, 17, 3, 3, 37, {.has_relu = true}},          // no dimension is a multiple of a tile
    {{16}, 33, 3, 4, 70, {.has_relu = true}},         // four pixel tiles, three filter tiles
    {{32, 16, 7}, 16, 3, 5, 50, {.has_relu = true}},  // concatenated inputs
    {{16, 16}, 24, 1, 6, 21, {.stride = 2}},
    {{16, 8, 5}, 3, 1, 6, 21, {.has_relu = true}},  // sum of products
    {{9}, 20, 5, 7, 35, {.stride = 2, .has_relu = true}},
    {{12, 4}, 40, 3, 11, 19, {.dilation = 2}},
    {{18}, 6, 3, 9, 8, {.dilation = 6}},  // the kernel reaches beyond the image
    {{7}, 19, 3, 12, 17, {.stride = 2, .dilation = 2}},
};

INSTANTIATE_TEST_SUITE_P(Shapes, ConvSame,
                         testing::Combine(testing::ValuesIn(kConvCases),
                                          testing::Values(torch::kFloat32, torch::kBFloat16)));

// Inputs that are slices of one image: the pixel stride is larger than the number of channels.
TEST(ConvSame, ReadsSlicesOfAnImage) {
  torch::manual_seed(4);
  const Tensor image = random_image({2, 40, 6, 21}).to(torch::kBFloat16);
  const std::vector<Tensor> parts = {image.narrow(1, 3, 16), image.narrow(1, 20, 11)};
  const Tensor w = torch::randn({8, 27, 3, 3}), b = torch::randn({8});
  const Tensor expected = torch::conv2d(torch::cat(parts, 1).to(torch::kFloat32), w, b, 1, 1);
  EXPECT_LT(relative_error(conv_same(parts, w, b, torch::kBFloat16), expected), 0.01);
}

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
  // Dropout is uniform over channels and pixels.
  for (const std::vector<std::int64_t>& over :
       {std::vector<std::int64_t>{0, 2, 3}, std::vector<std::int64_t>{1}}) {
    const torch::Tensor share = out.to(torch::kFloat32).mean(over);
    EXPECT_NEAR(
        share.std().item<float>(),
        std::sqrt(0.25f * static_cast<float>(share.numel()) / static_cast<float>(out.numel())),
        0.01);
  }
  out.backward(torch::ones_like(out));
  // Dropped outputs have no gradient; of four equal inputs, the first receives the whole gradient.
  EXPECT_TRUE(torch::equal(x.grad().index({torch::indexing::Slice(), torch::indexing::Slice(),
                                           torch::indexing::Slice(0, torch::indexing::None, 2),
                                           torch::indexing::Slice(0, torch::indexing::None, 2)}),
                           out));
  EXPECT_TRUE(torch::equal(out, pool_relu_drop(x, 0.5, 7)));
  EXPECT_FALSE(torch::equal(out, pool_relu_drop(x, 0.5, 8)));
}

INSTANTIATE_TEST_SUITE_P(Types, PoolReluDrop, testing::Values(torch::kFloat32, torch::kBFloat16));

}  // namespace
}  // namespace tutti::kernels
