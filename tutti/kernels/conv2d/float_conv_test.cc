// Compares f32 convolutions with those of libtorch in f64, forward and backward.
#include "tutti/kernels/conv2d/float_conv.h"

#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <numeric>

#include "tutti/kernels/conv2d/conv.h"

namespace tutti::kernels {
namespace {

using torch::Tensor;

constexpr double kTolerance = 1e-5;

Tensor random_image(std::vector<std::int64_t> sizes) {
  return torch::randn(sizes).contiguous(at::MemoryFormat::ChannelsLast);
}

double relative_error(const Tensor& ours, const Tensor& exact) {
  return ((ours.to(torch::kFloat64) - exact).norm() / exact.norm()).item<double>();
}

Tensor exact_conv(at::TensorList inputs, const Tensor& weight, const Tensor& bias,
                  std::int64_t stride = 1, std::int64_t dilation = 1) {
  return torch::conv2d(torch::cat(inputs, 1).to(torch::kFloat64), weight.to(torch::kFloat64),
                       bias.to(torch::kFloat64), stride, weight.size(2) / 2 * dilation, dilation);
}

// Fills memory with NaN and frees it, so reads of uninitialised memory are detected.
void spoil_memory() {
  std::vector<Tensor> all;
  for (std::int64_t size = 64; size <= 1 << 22; size *= 2)
    all.push_back(torch::full({size}, std::nan("")));
}

struct Shape {
  std::vector<std::int64_t> in;  // channels of each input
  std::int64_t out, images, height, width;
  bool has_relu = false;
  std::int64_t kernel = 3, stride = 1, dilation = 1;
  bool is_winograd() const { return kernel == 3 && stride == 1 && dilation == 1; }
};
class FloatConv : public testing::TestWithParam<Shape> {};

TEST_P(FloatConv, AgreesWithF64) {
  const Shape& shape = GetParam();
  torch::manual_seed(1);
  std::vector<Tensor> leaves = {
      torch::randn({shape.out, std::accumulate(shape.in.begin(), shape.in.end(), std::int64_t{0}),
                    shape.kernel, shape.kernel})
          .requires_grad_(),
      torch::randn({shape.out}).requires_grad_()};
  for (std::int64_t channels : shape.in)
    leaves.push_back(
        random_image({shape.images, channels, shape.height, shape.width}).requires_grad_());
  const at::TensorList inputs(leaves.data() + 2, shape.in.size());
  spoil_memory();
  const Tensor ours = shape.is_winograd()
                          ? float_conv(inputs, leaves[0], leaves[1], shape.has_relu)
                          : float_conv_of_concat(inputs, leaves[0], leaves[1], shape.stride,
                                                 shape.dilation, shape.has_relu);
  const Tensor exact = exact_conv(inputs, leaves[0], leaves[1], shape.stride, shape.dilation);
  EXPECT_LT(relative_error(ours, shape.has_relu ? torch::relu(exact) : exact), kTolerance);
  const Tensor g = torch::randn(ours.sizes());
  // The ReLU mask is taken from the tested result: near zero the sign depends on rounding.
  const Tensor masked = shape.has_relu ? g * (ours > 0) : g;
  const auto expected = torch::autograd::grad({exact}, leaves, {masked.to(torch::kFloat64)}, true);
  spoil_memory();
  const auto found = torch::autograd::grad({ours}, leaves, {g});
  for (std::size_t i = 0; i < leaves.size(); ++i)
    EXPECT_LT(relative_error(found[i], expected[i].to(torch::kFloat64)), kTolerance) << i;
}

INSTANTIATE_TEST_SUITE_P(Shapes, FloatConv,
                         testing::Values(Shape{{1}, 1, 1, 1, 1}, Shape{{1}, 3, 2, 2, 3},
                                         Shape{{3}, 17, 1, 5, 4, true}, Shape{{16}, 16, 2, 8, 8},
                                         Shape{{33}, 40, 3, 7, 13},  // no full tile or panel
                                         Shape{{32, 16, 7}, 16, 2, 5, 50, true},  // concatenated
                                         Shape{{128}, 128, 3, 30, 29, true},      // many blocks
                                         Shape{{260}, 200, 1, 6, 9},
                                         Shape{{32, 16, 7}, 16, 2, 9, 20, true, 5},
                                         Shape{{5, 3}, 6, 1, 11, 9, true, 3, 2},
                                         Shape{{8, 8}, 4, 2, 12, 8, false, 3, 1, 2}));

TEST(FloatConv, SkipsGradientsThatAreNotRequested) {
  torch::manual_seed(2);
  const Tensor first = random_image({2, 16, 6, 6}),
               second = random_image({2, 24, 6, 6}).requires_grad_(),
               weight = torch::randn({32, 40, 3, 3}), bias = torch::randn({32});
  const std::vector<Tensor> inputs = {first, second};
  const Tensor g = torch::randn({2, 32, 6, 6});
  const auto found =
      torch::autograd::grad({float_conv(inputs, weight, bias, false)}, {second}, {g});
  const auto exact =
      torch::autograd::grad({exact_conv(inputs, weight, bias)}, {second}, {g.to(torch::kFloat64)});
  EXPECT_LT(relative_error(found[0], exact[0].to(torch::kFloat64)), kTolerance);
  const auto concatenated = torch::autograd::grad(
      {float_conv_of_concat(inputs, weight, bias, 1, 1, false)}, {second}, {g});
  EXPECT_LT(relative_error(concatenated[0], exact[0].to(torch::kFloat64)), kTolerance);
}

// Inputs that are slices of one image: the pixel stride is larger than the number of channels.
TEST(FloatConv, ReadsSlicesOfAnImage) {
  torch::manual_seed(4);
  const Tensor image = random_image({2, 40, 6, 21});
  const std::vector<Tensor> parts = {image.narrow(1, 3, 16), image.narrow(1, 20, 11)};
  const Tensor weight = torch::randn({8, 27, 3, 3}), bias = torch::randn({8});
  EXPECT_LT(relative_error(float_conv(parts, weight, bias, false), exact_conv(parts, weight, bias)),
            kTolerance);
}

class SetThreads {
 public:
  explicit SetThreads(int count) { at::set_num_threads(count); }
  ~SetThreads() { at::set_num_threads(before_); }

 private:
  int before_ = at::get_num_threads();
};

std::vector<Tensor> step_on_threads(int count, std::vector<Tensor> leaves, bool is_first) {
  const SetThreads threads(count);
  const Tensor out =
      is_first ? first_conv_pool_relu_drop(leaves[2], leaves[0], leaves[1], torch::kFloat32, 0.5, 3)
               : float_conv(leaves[2], leaves[0], leaves[1], true);
  if (is_first) leaves.pop_back();
  auto all = torch::autograd::grad({out}, leaves, {torch::ones_like(out)});
  all.push_back(out);
  return all;
}

TEST(FloatConv, HasTheSameBitsOnAnyNumberOfThreads) {
  torch::manual_seed(5);
  const std::vector<Tensor> leaves = {torch::randn({32, 16, 3, 3}).requires_grad_(),
                                      torch::randn({32}).requires_grad_(),
                                      random_image({3, 16, 26, 27}).requires_grad_()};
  for (bool is_first : {false, true}) {
    const auto one = step_on_threads(1, leaves, is_first);
    const auto three = step_on_threads(3, leaves, is_first);
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(torch::equal(one[i], three[i])) << i;
  }
}

struct FirstShape {
  std::int64_t channels, filters, height, width;
};
class FirstConv : public testing::TestWithParam<FirstShape> {};

TEST_P(FirstConv, IsConvolutionThenPooling) {
  const FirstShape& shape = GetParam();
  torch::manual_seed(6);
  const Tensor image = random_image({2, shape.channels, shape.height, shape.width});
  const std::vector<Tensor> leaves = {
      torch::randn({shape.filters, shape.channels, 3, 3}).requires_grad_(),
      torch::randn({shape.filters}).requires_grad_()};
  for (double drop : {0.0, 0.5}) {
    const Tensor ours =
        first_conv_pool_relu_drop(image, leaves[0], leaves[1], torch::kFloat32, drop, 7);
    const Tensor exact =
        pool_relu_drop(exact_conv(image, leaves[0], leaves[1]).to(torch::kFloat32), drop, 7);
    EXPECT_LT(relative_error(ours, exact.to(torch::kFloat64)), kTolerance);
    const Tensor g = torch::randn(ours.sizes());
    const auto found = torch::autograd::grad({ours}, leaves, {g});
    const auto expected = torch::autograd::grad({exact}, leaves, {g});
    for (std::size_t i = 0; i < leaves.size(); ++i)
      EXPECT_LT(relative_error(found[i], expected[i].to(torch::kFloat64)), kTolerance) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, FirstConv,
                         testing::Values(FirstShape{3, 32, 8, 6}, FirstShape{3, 128, 9, 101},
                                         FirstShape{1, 16, 2, 3}, FirstShape{5, 24, 6, 6}));

}  // namespace
}  // namespace tutti::kernels
