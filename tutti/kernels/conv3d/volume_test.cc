// Compares the operations with those of libtorch, with tolerances for f32 and bf16.
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <set>

#include "tutti/kernels/amx/amx.h"
#include "tutti/kernels/conv3d/volume.h"

namespace tutti::kernels {
namespace {

const Amx kAmx = prepare_amx();

double difference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a.to(torch::kFloat32) - b.to(torch::kFloat32)).norm().item<double>() /
         std::max(1e-30, b.to(torch::kFloat32).norm().item<double>());
}

struct Gradients {
  torch::Tensor out, input, weight, bias;
};

template <class Run>
Gradients gradients_of(torch::Tensor x, torch::Tensor w, torch::Tensor b, Run run) {
  x = x.detach().clone().requires_grad_();
  w = w.detach().clone().requires_grad_();
  b = b.detach().clone().requires_grad_();
  const torch::Tensor out = run(x, w, b).to(torch::kFloat32);
  torch::manual_seed(9);
  (out * torch::randn(out.sizes())).sum().backward();
  return {out.detach(), x.grad(), w.grad(), b.grad()};
}

TEST(VolumeOps, ConvolutionHasTheRightGradients) {
  torch::manual_seed(1);
  for (const auto& [side, kernel, stride, padding] :
       {std::array{9, 4, 1, 0}, {8, 3, 1, 1}, {9, 3, 2, 0}, {7, 2, 1, 0}}) {
    const torch::Tensor x = torch::randn({2, 16, side, side, side}),
                        w = torch::randn({32, 16, kernel, kernel, kernel}) * 0.1,
                        b = torch::randn({32});
    const Gradients right = gradients_of(x, w, b, [&](auto& v, auto& k, auto& c) {
      return torch::conv3d(v, k, c, stride, padding);
    });
    for (const auto& [dtype, tolerance] :
         {std::pair(torch::kFloat32, 1e-5), std::pair(torch::kBFloat16, 0.02)}) {
      const Gradients ours = gradients_of(x, w, b, [&](auto& v, auto& k, auto& c) {
        return conv_volume(v, k, c, dtype, stride, padding);
      });
      EXPECT_LT(difference(ours.out, right.out), tolerance) << kernel;
      EXPECT_LT(difference(ours.input, right.input), tolerance) << kernel;
      EXPECT_LT(difference(ours.weight, right.weight), tolerance) << kernel;
      EXPECT_LT(difference(ours.bias, right.bias), tolerance) << kernel;
    }
  }
}

TEST(VolumeOps, PoolingOfOddAndEvenVolumes) {
  for (int side : {2, 6, 7})
    for (int channels : {1, 5, 16})
      for (const auto& [dtype, tolerance] :
           {std::pair(torch::kFloat32, 1e-6), std::pair(torch::kBFloat16, 0.01)}) {
        torch::manual_seed(side + channels);
        const torch::Tensor x =
            torch::randn({3, channels, side, side + 1, side}).to(dtype).to(torch::kFloat32);
        const torch::Tensor none = torch::zeros({1});
        const Gradients right = gradients_of(x, none, none, [](auto& v, auto& k, auto& c) {
          return torch::avg_pool3d(torch::leaky_relu(v, 0.01), 2) + k + c;
        });
        const Gradients ours = gradients_of(x, none, none, [&](auto& v, auto& k, auto& c) {
          return leaky_mean_pool(v.to(dtype), 0.01) + k + c;
        });
        EXPECT_LT(difference(ours.out, right.out), tolerance);
        EXPECT_LT(difference(ours.input, right.input), tolerance);
      }
}

TEST(VolumeOps, FirstLayerIsConvolutionLeakAndPooling) {
  for (int side : {4, 9, 12})
    for (int filters : {8, 24}) {
      torch::manual_seed(side + filters);
      const torch::Tensor x = torch::randn({3, 1, side, side, side + 1}),
                          w = torch::randn({filters, 1, 3, 3, 3}), b = torch::randn({filters});
      const Gradients right = gradients_of(x, w, b, [](auto& v, auto& k, auto& c) {
        return torch::avg_pool3d(torch::leaky_relu(torch::conv3d(v, k, c), 0.01), 2);
      });
      const Gradients ours = gradients_of(x, w, b, [](auto& v, auto& k, auto& c) {
        return first_conv_leaky_mean_pool(v, k, c, torch::kFloat32, 0.01);
      });
      EXPECT_LT(difference(ours.out, right.out), 1e-5);
      EXPECT_LT(difference(ours.weight, right.weight), 1e-5);
      EXPECT_LT(difference(ours.bias, right.bias), 1e-5);
    }
}

TEST(CubeSymmetry, AreAllSymmetriesOfACube) {
  const torch::Tensor cube = torch::arange(2 * 27).view({2, 3, 3, 3});
  EXPECT_TRUE(torch::equal(apply_cube_symmetry(cube, 0), cube));
  std::set<std::vector<std::int64_t>> seen;
  for (std::uint64_t i = 0; i < kCubeSymmetries; ++i) {
    const torch::Tensor other = apply_cube_symmetry(cube, i)[1].contiguous();
    EXPECT_EQ(other[1][1][1].item<std::int64_t>(), 27 + 13);  // the centre is unchanged
    seen.emplace(other.data_ptr<std::int64_t>(), other.data_ptr<std::int64_t>() + 27);
    // Distances are preserved: corners are at distance sqrt(3) from the centre.
    EXPECT_EQ(std::set<std::int64_t>({27, 29, 33, 35, 45, 47, 51, 53})
                  .count(other[0][2][0].item<std::int64_t>()),
              1u);
  }
  EXPECT_EQ(seen.size(), kCubeSymmetries);
}

}  // namespace
}  // namespace tutti::kernels
