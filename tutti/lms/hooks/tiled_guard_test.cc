#include <gtest/gtest.h>
#include <torch/torch.h>

#include <string>
#include <vector>

#include "tutti/core/test_error.h"
#include "tutti/lms/hooks/guard.h"
#include "tutti/lms/simulator.h"
#include "tutti/lms/tiling/tile_size.h"
#include "tutti/lms/tiling/tiling.h"

namespace tutti::lms {
namespace {

using torch::Tensor;
using TiledOutcome = std::vector<std::string>;  // losses and gradients as bytes

// Two levels of a 3-D U-Net with batch norm. The tensors of the first level have 4 MiB.
struct TiledUNet : torch::nn::Module {
  TiledUNet() {
    using namespace torch::nn;
    const auto conv = [&](const char* name, int in, int out) {
      return register_module(name, Conv3d(Conv3dOptions(in, out, 3).padding(1)));
    };
    first = conv("first", 1, 16), second = conv("second", 16, 16);
    down = conv("down", 16, 32), join = conv("join", 32, 16);
    up = register_module("up", ConvTranspose3d(ConvTranspose3dOptions(32, 16, 2).stride(2)));
    last = register_module("last", Conv3d(Conv3dOptions(16, 3, 1)));
    for (int i = 0; i < 2; ++i)
      norms.push_back(register_module("norm" + std::to_string(i), BatchNorm3d(16)));
  }
  Tensor forward(const Tensor& x) {
    Tensor y = norms[0]->forward(first->forward(x)).relu_();
    const Tensor skip = torch::leaky_relu(second->forward(y));
    y = torch::relu(down->forward(torch::max_pool3d(skip, 2)));
    y = torch::cat({up->forward(y), skip}, 1);
    return last->forward(torch::relu(norms[1]->forward(join->forward(y))));
  }
  torch::nn::Conv3d first = nullptr, second = nullptr, down = nullptr, join = nullptr,
                    last = nullptr;
  torch::nn::ConvTranspose3d up = nullptr;
  std::vector<torch::nn::BatchNorm3d> norms;
};

struct TiledRun {
  TiledOutcome outcome;
  std::vector<double> losses;
};

TiledRun train_unet(int steps) {
  torch::manual_seed(11);
  TiledUNet network;
  torch::optim::SGD optimizer(network.parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
  TiledRun run;
  const auto append = [&](const Tensor& tensor) {
    const Tensor copy = tensor.clone();
    run.outcome.emplace_back(static_cast<const char*>(copy.data_ptr()), copy.nbytes());
  };
  for (int step = 0; step < steps; ++step) {
    const Tensor x = torch::randn({1, 1, 64, 64, 16});
    const Tensor labels = torch::randint(3, {1, 64, 64, 16}, torch::kLong);
    optimizer.zero_grad();
    const Tensor loss = torch::cross_entropy_loss(network.forward(x), labels);
    loss.backward();
    run.losses.push_back(loss.item<double>());
    append(loss.detach());
    for (const Tensor& parameter : network.parameters()) append(parameter.grad());
    optimizer.step();
  }
  return run;
}

constexpr std::int64_t kTileBytes = 1 << 20;

GuardOptions tiled_options(std::int64_t budget) {
  GuardOptions options;
  options.budget = budget;
  options.minimum_bytes = 16 << 10;
  options.tile_bytes = kTileBytes;
  options.segment_bytes = 128 << 10;
  options.verifies = true;
  return options;
}

class TiledGuardTest : public testing::Test {
 protected:
  void SetUp() override { torch::set_num_threads(1); }
};

// The smallest budgets of untiled and tiled steps, and the outcome of tiled steps without paging.
struct Reference {
  std::int64_t untiled_bytes = 0, tiled_bytes = 0;
  TiledRun untiled, tiled;
};

const Reference& reference() {
  static const Reference reference = [] {
    Reference result;
    for (const bool is_tiled : {false, true}) {
      GuardOptions options = tiled_options(std::int64_t{1} << 30);
      options.plans = false;
      if (!is_tiled) options.tile_bytes = 0;
      const Guard guard(options);
      (is_tiled ? result.tiled : result.untiled) = train_unet(6);
      (is_tiled ? result.tiled_bytes : result.untiled_bytes) =
          minimum_budget(guard.trace(), {}).bytes;
      EXPECT_EQ(guard.statistics().pager.page_ins, 0);
      EXPECT_EQ(guard.statistics().pager.faults, 0);
    }
    return result;
  }();
  return reference;
}

TiledOutcome first_steps(const TiledOutcome& outcome, std::size_t entries) {
  return {outcome.begin(), outcome.begin() + static_cast<std::ptrdiff_t>(entries)};
}

TEST_F(TiledGuardTest, TiledStepsAgreeWithUntiledOnes) {
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(reference().tiled.losses[i], reference().untiled.losses[i], 1e-4);
}

TEST_F(TiledGuardTest, TilesNeedLessThanAThirdOfTheBudget) {
  EXPECT_LT(3 * reference().tiled_bytes, reference().untiled_bytes);
  const std::int64_t budget = reference().untiled_bytes / 3;
  GuardOptions options = tiled_options(budget);
  options.tile_bytes = 0;
  const Guard guard(options);
  EXPECT_NE(error_of([] { train_unet(1); }).find("DDL-5-70"), std::string::npos);
}

TEST_F(TiledGuardTest, PassiveStepsAreBitwiseIdentical) {
  GuardOptions options = tiled_options(reference().untiled_bytes / 3);
  options.plans = false;
  const Guard guard(options);
  const TiledRun run = train_unet(2);
  EXPECT_EQ(run.outcome, first_steps(reference().tiled.outcome, run.outcome.size()));
  const SessionStatistics statistics = guard.statistics();
  EXPECT_GT(statistics.pager.page_ins, 0);
  EXPECT_EQ(statistics.pager.faults, 0);
  EXPECT_LE(statistics.pager.peak_resident, options.budget);
}

TEST_F(TiledGuardTest, PlannedStepsAreBitwiseIdentical) {
  const GuardOptions options = tiled_options(reference().untiled_bytes / 3);
  const Guard guard(options);
  const TiledRun run = train_unet(6);
  EXPECT_EQ(run.outcome, reference().tiled.outcome);
  const SessionStatistics statistics = guard.statistics();
  EXPECT_GE(statistics.planned_steps, 2);
  EXPECT_EQ(statistics.pager.faults, 0);
  EXPECT_LE(statistics.pager.peak_resident, options.budget);
}

TEST_F(TiledGuardTest, OperatorsRunUntiledAfterTheGuard) {
  {
    const Guard guard(tiled_options(std::int64_t{64} << 20));
    EXPECT_EQ(tile_bytes(), kTileBytes);
  }
  const std::int64_t before = tiled_calls();
  torch::relu(torch::ones({kTileBytes}));
  EXPECT_EQ(tiled_calls(), before);
}

}  // namespace
}  // namespace tutti::lms
