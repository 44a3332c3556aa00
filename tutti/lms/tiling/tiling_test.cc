#include "tutti/lms/tiling/tiling.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "tutti/lms/tiling/tiles.h"

namespace tutti::lms {
namespace {

namespace nnf = torch::nn::functional;
using torch::Tensor;
using Tensors = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensors&)>;

// Operators run in tiles of this size as long as the object exists.
struct Tiled {
  explicit Tiled(std::int64_t bytes) { set_tile_bytes(bytes); }
  ~Tiled() { set_tile_bytes(0); }
  Tiled(const Tiled&) = delete;
  Tiled& operator=(const Tiled&) = delete;
};

class TilingTest : public testing::Test {
 protected:
  void SetUp() override {
    torch::set_num_threads(1);
    torch::manual_seed(3);
  }
};

// The result of a function, and the gradients of its inputs. `calls`: of the function that ran in tiles.
Tensors outcome_of(const Function& function, const Tensors& inputs, bool has_gradients,
                   std::int64_t* calls = nullptr) {
  Tensors leaves;
  for (const Tensor& input : inputs) {
    Tensor leaf = input.clone();
    leaves.push_back(leaf.set_requires_grad(has_gradients && leaf.is_floating_point()));
  }
  const std::int64_t before = tiled_calls();
  const Tensor result = function(leaves);
  if (calls) *calls = tiled_calls() - before;
  Tensors outcome = {result.detach()};
  if (!has_gradients) return outcome;
  // Weights that differ between elements.
  const Tensor weights =
      torch::linspace(0.5, 1.5, result.numel(), result.options().requires_grad(false));
  (result * weights.view(result.sizes())).sum().backward();
  for (const Tensor& leaf : leaves)
    if (leaf.grad().defined()) outcome.push_back(leaf.grad());
  return outcome;
}

void expect_near(const Tensors& tiled, const Tensors& expected) {
  ASSERT_EQ(tiled.size(), expected.size());
  for (std::size_t i = 0; i < tiled.size(); ++i) {
    EXPECT_EQ(tiled[i].sizes(), expected[i].sizes()) << i;
    EXPECT_EQ(tiled[i].dtype(), expected[i].dtype()) << i;
    EXPECT_EQ(tiled[i].strides(), expected[i].strides()) << i;
    const double scale = expected[i].abs().max().item<double>();
    const double error =
        (tiled[i].to(torch::kDouble) - expected[i].to(torch::kDouble)).abs().max().item<double>();
    EXPECT_LE(error, 1e-5 * std::max(scale, 1.0)) << i;
  }
}

// Compares the tiled function with the untiled one, with and without gradients.
void expect_same(const Function& function, const Tensors& inputs, std::int64_t tile_bytes) {
  for (const bool has_gradients : {true, false}) {
    const torch::AutoGradMode mode(has_gradients);
    const Tensors expected = outcome_of(function, inputs, has_gradients);
    std::int64_t calls = 0;
    const Tiled tiled(tile_bytes);
    const Tensors outcome = outcome_of(function, inputs, has_gradients, &calls);
    EXPECT_GT(calls, 0);
    set_tile_bytes(0);
    expect_near(outcome, expected);
  }
}

TEST(Tiles, CoverEachElementOnceInOrderOfMemory) {
  for (const std::int64_t most : {1, 2, 7, 30, 100, 1000}) {
    const std::vector<std::int64_t> sizes = {2, 3, 5, 4}, strides = {60, 1, 12, 3};
    std::vector<int> covered(120, 0);
    for (const Tile& tile : tiles_of(sizes, strides, most)) {
      std::int64_t count = 1, first = 1000, last = -1;
      for (std::size_t i = 0; i < 4; ++i) count *= tile.sizes[i];
      EXPECT_LE(count, most);
      for (std::int64_t e = 0; e < count; ++e) {
        std::int64_t rest = e, at = 0;
        for (std::size_t i = 0; i < 4; ++i) {
          at += (tile.starts[i] + rest % tile.sizes[i]) * strides[i];
          rest /= tile.sizes[i];
        }
        ++covered[static_cast<std::size_t>(at)];
        first = std::min(first, at);
        last = std::max(last, at);
      }
      EXPECT_EQ(last - first + 1, count) << "not a range of memory";
    }
    EXPECT_EQ(covered, std::vector<int>(120, 1)) << most;
  }
}

TEST(Tiles, WholeDimensionsAreNotDivided) {
  for (const Tile& tile : tiles_of({2, 3, 5}, {15, 5, 1}, 4, 1)) EXPECT_EQ(tile.sizes[1], 3);
  EXPECT_TRUE(tiles_of({2, 0}, {1, 1}, 4).empty());
  EXPECT_EQ(tiles_of({}, {}, 4).size(), 1U);
}

struct Convolution {
  std::int64_t samples, in, out, kernel, stride, padding, dilation, groups;
  bool has_bias;
};

TEST_F(TilingTest, Convolutions) {
  const std::vector<Convolution> cases = {
      {1, 4, 6, 3, 1, 1, 1, 1, true}, {2, 3, 5, 3, 1, 1, 1, 1, false},
      {1, 4, 4, 1, 1, 0, 1, 1, true}, {1, 4, 6, 3, 2, 1, 1, 1, true},
      {1, 4, 6, 2, 2, 0, 1, 1, true}, {2, 4, 6, 3, 1, 2, 2, 2, true},
      {1, 2, 2, 5, 1, 0, 1, 1, true}, {1, 3, 4, 2, 3, 0, 1, 1, true},
      {1, 3, 4, 3, 1, 3, 1, 1, true}};
  for (const Convolution& c : cases)
    for (const auto type : {torch::kFloat, torch::kDouble})
      for (const std::int64_t tile : {4 << 10, 16 << 10}) {
        const auto options = torch::TensorOptions(type);
        Tensors inputs = {
            torch::randn({c.samples, c.in, 17, 9, 11}, options),
            torch::randn({c.out, c.in / c.groups, c.kernel, c.kernel, c.kernel}, options)};
        if (c.has_bias) inputs.push_back(torch::randn({c.out}, options));
        expect_same(
            [&](const Tensors& t) {
              return torch::conv3d(t[0], t[1], c.has_bias ? t[2] : Tensor(), c.stride, c.padding,
                                   c.dilation, c.groups);
            },
            inputs, tile);
      }
}

// Above the size below which libtorch uses im2col, so with oneDNN.
TEST_F(TilingTest, LargeConvolutions) {
  expect_same(
      [](const Tensors& t) { return torch::conv3d(t[0], t[1], t[2], 1, 1); },
      {torch::randn({1, 16, 40, 32, 32}), torch::randn({8, 16, 3, 3, 3}), torch::randn({8})},
      1 << 20);
  expect_same([](const Tensors& t) { return torch::conv2d(t[0], t[1], t[2], 1, 1); },
              {torch::randn({2, 16, 64, 64}), torch::randn({8, 16, 3, 3}), torch::randn({8})},
              256 << 10);
}

TEST_F(TilingTest, TransposedConvolutions) {
  const std::vector<Convolution> cases = {{1, 4, 6, 2, 2, 0, 1, 1, true},
                                          {2, 4, 6, 3, 2, 1, 1, 2, true},
                                          {1, 3, 2, 3, 1, 1, 2, 1, false},
                                          {1, 3, 2, 2, 3, 0, 1, 1, true}};
  for (const Convolution& c : cases)
    for (const std::int64_t tile : {2 << 10, 6 << 10}) {
      Tensors inputs = {torch::randn({c.samples, c.in, 9, 7, 6}),
                        torch::randn({c.in, c.out / c.groups, c.kernel, c.kernel, c.kernel})};
      if (c.has_bias) inputs.push_back(torch::randn({c.out}));
      expect_same(
          [&](const Tensors& t) {
            return torch::conv_transpose3d(t[0], t[1], c.has_bias ? t[2] : Tensor(), c.stride,
                                           c.padding, c.stride - 1, c.groups, c.dilation);
          },
          inputs, tile);
    }
}

TEST_F(TilingTest, ChannelsLastConvolutions) {
  expect_same(
      [](const Tensors& t) {
        return torch::conv3d(t[0].contiguous(at::MemoryFormat::ChannelsLast3d), t[1], t[2], 1, 1);
      },
      {torch::randn({2, 8, 24, 18, 18}), torch::randn({8, 8, 3, 3, 3}), torch::randn({8})},
      200 << 10);
}

TEST_F(TilingTest, Norms) {
  const Tensors inputs = {torch::randn({2, 6, 7, 8, 9}), torch::rand({6}), torch::randn({6})};
  for (const std::int64_t tile : {1 << 10, 30 << 10}) {
    for (const bool is_training : {true, false}) {
      const auto batch_norm = [&](const Tensors& t) {
        Tensor mean = torch::zeros({6}), variance = torch::ones({6});
        const Tensor y =
            torch::batch_norm(t[0], t[1], t[2], mean, variance, is_training, 0.3, 1e-5, false);
        return y + mean.sum() + variance.sum();
      };
      expect_same(batch_norm, inputs, tile);
    }
    expect_same(
        [](const Tensors& t) {
          return torch::batch_norm(t[0], {}, {}, {}, {}, true, 0.1, 1e-5, false);
        },
        {inputs[0]}, tile);
    expect_same(
        [](const Tensors& t) {
          return torch::instance_norm(t[0], t[1], t[2], {}, {}, true, 0, 1e-5, false);
        },
        inputs, tile);
    for (const std::int64_t groups : {1, 2, 6})
      expect_same([&](const Tensors& t) { return torch::group_norm(t[0], groups, t[1], t[2]); },
                  inputs, tile);
  }
}

TEST_F(TilingTest, PoolingAndUpsampling) {
  const Tensors inputs = {torch::randn({2, 6, 7, 8, 9})};
  const std::vector<Function> functions = {
      [](const Tensors& t) { return torch::max_pool3d(t[0], 2); },
      [](const Tensors& t) { return torch::max_pool3d(t[0], 3, 2, 1); },
      [](const Tensors& t) { return torch::avg_pool3d(t[0], 2); },
      [](const Tensors& t) { return torch::adaptive_avg_pool3d(t[0], {3, 4, 2}); },
      [](const Tensors& t) { return torch::upsample_nearest3d(t[0], {14, 16, 18}); },
      [](const Tensors& t) { return torch::upsample_trilinear3d(t[0], {14, 16, 18}, false); },
      [](const Tensors& t) { return torch::max_pool2d(t[0].flatten(3), 2); },
      [](const Tensors& t) {
        return nnf::interpolate(t[0], nnf::InterpolateFuncOptions()
                                          .scale_factor(std::vector<double>{2, 2, 2})
                                          .mode(torch::kNearest));
      },
  };
  for (const Function& function : functions)
    for (const std::int64_t tile : {1 << 10, 20 << 10}) expect_same(function, inputs, tile);
}

TEST_F(TilingTest, PoolingOfOneVolumeWithoutSamplesIsUntiled) {
  const Tensor x = torch::randn({6, 7, 8, 9});
  const Tensor expected = torch::max_pool3d(x, 2), mean = torch::avg_pool3d(x, 3, 1, 1);
  const Tiled tiled(1 << 10);
  EXPECT_TRUE(torch::max_pool3d(x, 2).equal(expected));
  EXPECT_TRUE(torch::avg_pool3d(x, 3, 1, 1).equal(mean));
}

TEST_F(TilingTest, BackwardOperatorsRunInTiles) {
  const Tensor x = torch::randn({1, 4, 8, 8, 8}), g = torch::randn({1, 4, 8, 8, 8});
  const Tensor weight = torch::randn({4, 4, 3, 3, 3}), gamma = torch::rand({4});
  const auto [pooled, indices] = torch::max_pool3d_with_indices(x, 2);
  const auto [y, mean, deviation] =
      torch::native_batch_norm(x, gamma, gamma, {}, {}, true, 0.1, 1e-5);
  const auto [z, group_mean, group_deviation] =
      torch::native_group_norm(x, gamma, gamma, 1, 4, 512, 2, 1e-5);
  const std::vector<std::int64_t> none, pair(3, 2), one(3, 1), zero(3, 0), channels = {4};
  const std::vector<std::function<void()>> calls = {
      [&] {
        for (const bool is_transposed : {false, true})
          at::convolution_backward(g, x, weight, at::IntArrayRef(channels), one, one, one,
                                   is_transposed, zero, 1, {true, true, true});
      },
      [&] {
        at::max_pool3d_with_indices_backward(pooled, x, pair, none, zero, one, false, indices);
      },
      [&] { at::avg_pool3d_backward(pooled, x, pair, none, zero, false, true, {}); },
      [&] { at::upsample_nearest3d_backward(x, {8, 8, 8}, {1, 4, 4, 4, 4}); },
      [&] {
        at::native_batch_norm_backward(g, x, gamma, {}, {}, mean, deviation, true, 1e-5,
                                       {true, true, true});
      },
      [&] {
        at::native_group_norm_backward(g, x, group_mean, group_deviation, gamma, 1, 4, 512, 2,
                                       {true, true, true});
      },
      [&] { at::threshold_backward(g, x, 0); },
      [&] { at::leaky_relu_backward(g, x, 0.1, false); },
      [&] { at::_log_softmax_backward_data(g, x, 1, torch::kFloat); },
  };
  const Tiled tiled(1 << 10);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::int64_t before = tiled_calls();
    calls[i]();
    EXPECT_EQ(tiled_calls() - before, i == 0 ? 2 : 1) << i;
  }
}

TEST_F(TilingTest, IndicesOfMaxPooling) {
  const Tensor x = torch::randn({2, 6, 7, 8, 9});
  const auto [expected, expected_indices] = torch::max_pool3d_with_indices(x, 2);
  const Tiled tiled(1 << 10);
  const auto [values, indices] = torch::max_pool3d_with_indices(x, 2);
  EXPECT_TRUE(values.equal(expected));
  EXPECT_TRUE(indices.equal(expected_indices));
}

TEST_F(TilingTest, ElementwiseOperators) {
  const Tensor a = torch::randn({2, 3, 5, 7, 11}), b = torch::rand({2, 3, 5, 7, 11}) + 0.5;
  const Tensor row = torch::rand({2, 3, 1, 1, 1}) + 0.5, last = torch::rand({7, 1}) + 0.5;
  const std::vector<Function> functions = {
      [](const Tensors& t) { return torch::relu(t[0]) * t[1] / t[2] - t[3]; },
      [](const Tensors& t) { return (t[0] * 2 + t[1] - 0.5).relu_().mul(t[2]).add_(t[3]); },
      [](const Tensors& t) {
        return torch::leaky_relu(t[0]) + torch::sigmoid(t[1] - t[2]) + t[3].tanh();
      },
      [](const Tensors& t) {
        Tensor sum = t[0] + t[1];
        return torch::leaky_relu_(sum, 0.1) * torch::elu(t[2] - t[3]);
      },
      [](const Tensors& t) {
        return torch::where(t[0] > t[1], torch::silu(t[1]) * t[2], torch::gelu(t[0]) + t[3]);
      },
      [](const Tensors& t) {
        return t[1].sqrt() + t[1].log() + t[2].square() + t[3].rsqrt() + t[0].exp().neg();
      },
      [](const Tensors& t) {
        return (t[0].permute({0, 2, 3, 4, 1}) * t[2].permute({0, 2, 3, 4, 1})).contiguous() +
               t[1].permute({0, 2, 3, 4, 1}) + t[3].sum();
      },
      [](const Tensors& t) {
        return torch::softplus(t[0] + t[3]) + torch::hardtanh(t[1]) + t[2].clamp_min(0.7);
      },
      [](const Tensors& t) {
        return (t[0].to(torch::kDouble) + t[1]).to(torch::kFloat) + t[2] + t[3];
      },
  };
  for (const Function& function : functions)
    for (const std::int64_t tile : {64, 1 << 10, 7 << 10})
      expect_same(function, {a, b, row, last}, tile);
}

TEST_F(TilingTest, ComparisonsKeepTheirType) {
  const Tensor a = torch::randn({4, 40, 9});
  const Tensor expected = a > 0.5;
  const Tiled tiled(500);
  const Tensor result = a > 0.5;
  EXPECT_EQ(result.dtype(), torch::kBool);
  EXPECT_TRUE(result.equal(expected));
  EXPECT_EQ((a + torch::ones({9}, torch::kDouble)).dtype(), torch::kDouble);
}

TEST_F(TilingTest, SoftmaxOverAnyDimension) {
  for (const std::int64_t dimension : {0, 1, 2, -1})
    for (const std::int64_t tile : {1 << 10, 7 << 10})
      expect_same(
          [&](const Tensors& t) {
            return torch::softmax(t[0], dimension) + torch::log_softmax(t[0], dimension);
          },
          {torch::randn({2, 5, 6, 7, 8})}, tile);
}

TEST_F(TilingTest, Losses) {
  const Tensors inputs = {torch::randn({2, 3, 6, 7, 8})};
  const Tensor labels = torch::randint(3, {2, 6, 7, 8}, torch::kLong),
               truth = torch::rand({2, 3, 6, 7, 8});
  for (const std::int64_t tile : {1 << 10, 7 << 10}) {
    expect_same(
        [&](const Tensors& t) { return torch::cross_entropy_loss(t[0], labels).reshape({1}); },
        inputs, tile);
    expect_same(
        [&](const Tensors& t) {
          return torch::binary_cross_entropy_with_logits(t[0], truth).reshape({1});
        },
        inputs, tile);
    expect_same([&](const Tensors& t) { return t[0].square().mean().reshape({1}); }, inputs, tile);
  }
}

TEST_F(TilingTest, Concatenation) {
  const Tensors inputs = {torch::randn({2, 3, 5, 4, 6}), torch::randn({2, 2, 5, 4, 6}),
                          torch::randn({2, 1, 5, 4, 6})};
  for (const std::int64_t tile : {500, 3 << 10})
    expect_same([](const Tensors& t) { return torch::cat({t[0], t[1], t[2]}, 1); }, inputs, tile);
  expect_same([](const Tensors& t) { return torch::cat({t[0], t[0]}, -1); }, inputs, 500);
}

TEST_F(TilingTest, CopiesAndFills) {
  const Tiled tiled(300);
  Tensor a = torch::zeros({3, 50});
  EXPECT_EQ(a.sum().item<float>(), 0);
  a.fill_(2);
  EXPECT_EQ(a.sum().item<float>(), 300);
  const Tensor b = torch::arange(150).view({50, 3});
  a.copy_(b.t());
  EXPECT_EQ(a[1][10].item<float>(), 31);
  EXPECT_TRUE(a.clone().equal(a));
  EXPECT_TRUE(a.t().contiguous().t().equal(a));
  EXPECT_EQ(torch::ones_like(a).sum().item<float>(), 150);
}

TEST_F(TilingTest, RandomNumbersAreThoseOfUntiledOperators) {
  torch::manual_seed(5);
  const Tensor expected = torch::dropout(torch::ones({4, 5000}), 0.3, true);
  torch::manual_seed(5);
  const Tiled tiled(1000);
  EXPECT_TRUE(torch::dropout(torch::ones({4, 5000}), 0.3, true).equal(expected));
}

TEST_F(TilingTest, SmallAndUnusualTensorsRunUntiled) {
  const Tiled tiled(1 << 20);
  const std::int64_t before = tiled_calls();
  torch::relu(torch::randn({10, 10}));
  torch::conv3d(torch::randn({1, 2, 4, 4, 4}), torch::randn({2, 2, 3, 3, 3}));
  torch::cat({torch::randn({3}), torch::randn({4})});
  EXPECT_EQ(tiled_calls(), before);
  EXPECT_FALSE(is_in_tiled_operator());
  EXPECT_TRUE(is_tiled({"aten::convolution", ""}));
  EXPECT_FALSE(is_tiled({"aten::mm", ""}));
}

TEST_F(TilingTest, ErrorsEndTheOperator) {
  const Tiled tiled(1000);
  EXPECT_THROW(torch::conv3d(torch::randn({1, 2, 9, 9, 9}), torch::randn({2, 3, 3, 3, 3})),
               c10::Error);
  EXPECT_FALSE(is_in_tiled_operator());
  EXPECT_THROW(torch::randn({1000}) + torch::randn({999}), c10::Error);
  EXPECT_FALSE(is_in_tiled_operator());
}

}  // namespace
}  // namespace tutti::lms
