// Comparison with the optimizers of libtorch.
#include <gtest/gtest.h>
#include <torch/optim.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "tutti/train/optim/optimizer.h"

namespace tutti::train {
namespace {

constexpr double kDecay = 0.1, kEpsilon = 1e-4;

std::unique_ptr<torch::optim::Optimizer> theirs(UpdateRule rule, std::vector<torch::Tensor> weights,
                                                double rate) {
  using namespace torch::optim;
  if (rule == UpdateRule::kSgd)
    return std::make_unique<SGD>(
        weights, SGDOptions(rate).momentum(0.9).nesterov(true).weight_decay(kDecay));
  if (rule == UpdateRule::kAdam)
    return std::make_unique<Adam>(
        weights, AdamOptions(rate).betas({0.9, 0.99}).eps(kEpsilon).weight_decay(kDecay));
  if (rule == UpdateRule::kAdamw)
    return std::make_unique<AdamW>(
        weights, AdamWOptions(rate).betas({0.9, 0.99}).eps(kEpsilon).weight_decay(kDecay));
  return std::make_unique<RMSprop>(
      weights, RMSpropOptions(rate).alpha(0.99).eps(kEpsilon).weight_decay(kDecay));
}

class RulesOfTorch : public testing::TestWithParam<UpdateRule> {};

TEST_P(RulesOfTorch, TakeTheSameSteps) {
  constexpr double kRate = 0.03;
  torch::manual_seed(4);
  const torch::Tensor start = torch::randn({2000});
  torch::Tensor weights = start.clone().set_requires_grad(true);
  const auto peer = theirs(GetParam(), {weights}, kRate);
  UpdateSettings settings{GetParam(), 0.9, 0.99, kEpsilon, 0.002, kDecay};
  settings.nesterov = true;
  Optimizer ours(settings, {{"w", 0, 2000}});
  std::vector<float> mine(start.data_ptr<float>(), start.data_ptr<float>() + 2000);
  for (int step = 1; step <= 10; ++step) {
    const torch::Tensor gradient = torch::randn({2000});
    weights.mutable_grad() = gradient.clone();
    peer->step();
    ours.begin(step, kRate);
    ours.update(mine, {gradient.data_ptr<float>(), 2000}, 0, 1);
  }
  const torch::Tensor difference = torch::from_blob(mine.data(), {2000}) - weights.detach();
  EXPECT_LT(difference.abs().max().item<double>(), 2e-5);
  EXPECT_GT((weights.detach() - start).abs().mean().item<double>(), 0.01);
}

INSTANTIATE_TEST_SUITE_P(Rules, RulesOfTorch,
                         testing::Values(UpdateRule::kSgd, UpdateRule::kAdam, UpdateRule::kAdamw,
                                         UpdateRule::kRmsprop),
                         [](const auto& parameter) {
                           return std::string(kOptimizerNames[std::size_t(parameter.param)]);
                         });

}  // namespace
}  // namespace tutti::train
