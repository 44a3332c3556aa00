// With lag 1 a step updates with the gradient of the previous step, and nothing else. The gradients are given; the
// expected weights are computed by hand.
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <functional>

#include "tutti/comm/transport/thread/thread_world.h"
#include "tutti/train/run/options.h"
#include "tutti/train/strategy.h"

namespace tutti::train {
namespace {

constexpr int kRanks = 2, kWeights = 600;

// Gradient of a step (from 1) and weight on one rank: small integers, so that sums are exact. The mean over the ranks
// is given_mean.
float given(int step, int weight, int rank) {
  return float(step * 10 + weight % 7 + 2 * rank);
}
float given_mean(int step, int weight) {
  return given(step, weight, 0) + float(kRanks - 1);
}

struct Step {
  int number;
  bool is_finite = true;
};

using Weights = std::vector<std::vector<float>>;  // after each step

// Plain steps of rate 1: weights decrease by the gradients used.
Weights weights_after(const std::vector<Step>& steps, const char* lag,
                      const std::function<void(int, Strategy&)>& before_step = {}) {
  Weights all;
  comm::ThreadWorld world(kRanks);
  world.run([&](comm::Transport& transport) {
    const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
    Options options(train_options());
    for (const auto& [name, value] :
         {std::pair("lag", lag), {"optimizer", "sgd"}, {"momentum", "0"}, {"bucket_bytes", "1024"}})
      options.set(name, value);
    torch::nn::Module model("toy");
    for (const char* name : {"a", "b"})  // several buckets
      model.register_parameter(name, torch::zeros({kWeights / 2}));
    FlatParameters parameters(model, *communicator, false, gradient_buffers(options));
    Optimizer optimizer(update_settings(options), parameters.segments());
    const auto strategy = make_strategy({*communicator, model, options, parameters, optimizer});
    for (const Step& step : steps) {
      if (before_step) before_step(step.number, *strategy);
      strategy->begin();
      strategy->last_backward();
      torch::Tensor loss = torch::zeros({});
      for (int t = 0; t < 2; ++t) {
        torch::Tensor gradient = torch::empty({kWeights / 2});
        for (int i = 0; i < kWeights / 2; ++i)
          gradient[i] = given(step.number, t * kWeights / 2 + i, transport.rank());
        loss = loss + (parameters.tensors()[static_cast<std::size_t>(t)] * gradient).sum();
      }
      loss.backward();
      const bool is_usable = strategy->reduce(step.is_finite).is_usable;
      strategy->finish(step.number, 1, 1, is_usable);
      if (transport.rank() == 0)
        all.emplace_back(parameters.weights().begin(), parameters.weights().end());
    }
    strategy->pending();  // the last reduction must not outlive its memory
  });
  return all;
}

// Weights after subtracting the mean gradients of these steps.
std::vector<float> weights_after_gradients(const std::vector<int>& steps) {
  std::vector<float> weights(kWeights);
  for (int step : steps)
    for (int i = 0; i < kWeights; ++i) weights[static_cast<std::size_t>(i)] -= given_mean(step, i);
  return weights;
}

TEST(Lag, UpdatesWithTheGradientOfTheStepBefore) {
  const Weights late = weights_after({{1}, {2}, {3}, {4}}, "1");
  ASSERT_EQ(late.size(), 4u);
  EXPECT_EQ(late[0], weights_after_gradients({}));  // no gradient yet
  EXPECT_EQ(late[1], weights_after_gradients({1}));
  EXPECT_EQ(late[2], weights_after_gradients({1, 2}));
  EXPECT_EQ(late[3], weights_after_gradients({1, 2, 3}));
  const Weights prompt = weights_after({{1}, {2}}, "0");
  EXPECT_EQ(prompt[0], weights_after_gradients({1}));
  EXPECT_EQ(prompt[1], weights_after_gradients({1, 2}));
}

// The gradient of the non-finite step is skipped, one step later.
TEST(Lag, ANonFiniteGradientIsSkippedInItsTurn) {
  const Weights late = weights_after({{1}, {2, false}, {3}, {4}}, "1");
  EXPECT_EQ(late[1], weights_after_gradients({1}));
  EXPECT_EQ(late[2], weights_after_gradients({1}));
  EXPECT_EQ(late[3], weights_after_gradients({1, 3}));
}

TEST(Lag, AResumedRunUsesThePendingGradient) {
  std::vector<float> kept;
  weights_after({{1}, {2}, {3}}, "1", [&](int step, Strategy& strategy) {
    const std::span<const float> pending = strategy.pending();
    ASSERT_EQ(pending.empty(), step == 1);
    if (step != 3) return;
    EXPECT_EQ(pending[5], given_mean(2, 5));
  });
  for (int i = 0; i < kWeights; ++i) kept.push_back(given_mean(2, i));
  const Weights resumed = weights_after({{3}, {4}}, "1", [&](int step, Strategy& strategy) {
    if (step == 3) strategy.set_pending(kept);
  });
  EXPECT_EQ(resumed[0], weights_after_gradients({2}));
  EXPECT_EQ(resumed[1], weights_after_gradients({2, 3}));
}

}  // namespace
}  // namespace tutti::train
