#include "tutti/train/batch_norm.h"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "tutti/comm/transport/thread/thread_world.h"

namespace tutti::train {
namespace {

using torch::Tensor;

struct Norm {
  Tensor scale = torch::tensor({1.5f, -0.5f, 2.f}).set_requires_grad(true);
  Tensor shift = torch::tensor({0.1f, 0.2f, 0.3f}).set_requires_grad(true);
  Tensor mean = torch::zeros(3), variance = torch::ones(3);
  // A weighted sum with different coefficients, so that no gradient vanishes.
  Tensor loss(const Tensor& input, const Tensor& coefficients) {
    return (batch_norm(input, scale, shift, mean, variance, true, 0.1, 1e-5) * coefficients)
        .square()
        .sum();
  }
};

void expect_close(const Tensor& a, const Tensor& b) {
  EXPECT_TRUE(torch::allclose(a, b, 1e-4, 1e-4)) << (a - b).abs().max().item<float>();
}

// Ranks with 1, 2, ... samples each compute the same as one rank with all of them.
void shares_as_one(int ranks, std::vector<std::int64_t> spatial_shape) {
  torch::manual_seed(3);
  const std::int64_t samples = ranks * (ranks + 1) / 2;
  std::vector<std::int64_t> shape = {samples, 3};
  shape.insert(shape.end(), spatial_shape.begin(), spatial_shape.end());
  const Tensor all = torch::randn(shape) + 5;
  const Tensor coefficients = torch::randn(shape);
  Norm whole;
  const Tensor input = all.clone().set_requires_grad(true);
  whole.loss(input, coefficients).backward();
  std::vector<Tensor> scale(ranks), shift(ranks);
  comm::ThreadWorld world(ranks);
  world.run([&](comm::Transport& transport) {
    const auto group = comm::Communicator::create(world.transport(transport.rank()));
    const int rank = transport.rank();
    const std::int64_t first = rank * (rank + 1) / 2;
    Norm part;
    const Tensor mine = all.narrow(0, first, rank + 1).clone().set_requires_grad(true);
    {
      const SyncBatchNormScope shared(*group);
      part.loss(mine, coefficients.narrow(0, first, rank + 1)).backward();
    }
    expect_close(mine.grad(), input.grad().narrow(0, first, rank + 1));
    expect_close(part.mean, whole.mean);
    expect_close(part.variance, whole.variance);
    scale[static_cast<std::size_t>(rank)] = part.scale.grad();
    shift[static_cast<std::size_t>(rank)] = part.shift.grad();
  });
  expect_close(torch::stack(scale).sum(0), whole.scale.grad());
  expect_close(torch::stack(shift).sum(0), whole.shift.grad());
}

TEST(SyncBatchNorm, RanksTogetherAreOneBatch) {
  shares_as_one(2, {4, 5});
  shares_as_one(3, {2, 3, 2});
  shares_as_one(2, {});
}

TEST(SyncBatchNorm, WithoutAGroupItIsTorchs) {
  Norm ours, theirs;
  const Tensor x = torch::randn({4, 3, 2, 2}), coefficients = torch::ones_like(x);
  const Tensor out = torch::batch_norm(x, theirs.scale, theirs.shift, theirs.mean, theirs.variance,
                                       true, 0.1, 1e-5, false);
  expect_close(ours.loss(x, coefficients), out.square().sum());
  expect_close(ours.mean, theirs.mean);
}

}  // namespace
}  // namespace tutti::train
