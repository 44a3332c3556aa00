// Trains a network that needs more memory than its budget. The losses are those of the run without a budget.
#include <torch/torch.h>

#include <cstdio>
#include <vector>

#include "tutti/lms/hooks/guard.h"

namespace {

namespace nn = torch::nn;
constexpr double kMiB = 1 << 20;

void add_block(nn::Sequential& network, int inputs, int outputs) {
  network->push_back(nn::Conv2d(nn::Conv2dOptions(inputs, outputs, 3).padding(1)));
  network->push_back(nn::BatchNorm2d(outputs));
  network->push_back(nn::ReLU());
}

std::vector<float> train(int steps) {
  torch::manual_seed(1);
  nn::Sequential network;
  add_block(network, 3, 16);
  for (int i = 0; i < 15; ++i) add_block(network, 16, 16);
  network->push_back(nn::Conv2d(nn::Conv2dOptions(16, 1, 1)));
  torch::optim::Adam optimizer(network->parameters());
  std::vector<float> losses;
  for (int step = 0; step < steps; ++step) {
    const torch::Tensor x = torch::randn({4, 3, 96, 96});
    const torch::Tensor loss = (network->forward(x) - x.mean(1, true)).square().mean();
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<float>());
  }
  return losses;
}

struct Run {
  std::vector<float> losses;
  tutti::lms::PagerStatistics memory;
};

Run train_within(std::int64_t budget) {
  const tutti::lms::Guard guard({.budget = budget});
  Run run;
  run.losses = train(5);
  run.memory = guard.statistics().pager;
  return run;
}

}  // namespace

int main() {
  torch::set_num_threads(1);
  const Run all = train_within(std::int64_t{1} << 30);  // everything fits
  const std::int64_t budget = all.memory.peak_resident / 4;
  const Run quarter = train_within(budget);
  std::printf("without a limit: %.0f MiB, last loss %.6f\n",
              double(all.memory.peak_resident) / kMiB, all.losses.back());
  std::printf("with a quarter:  %.0f MiB, last loss %.6f, %.0f MiB written\n",
              double(quarter.memory.peak_resident) / kMiB, quarter.losses.back(),
              double(quarter.memory.bytes_written) / kMiB);
  const bool is_same = quarter.losses == all.losses && quarter.memory.peak_resident <= budget;
  std::printf("%s\n", is_same ? "bitwise identical losses" : "different losses");
  return is_same ? 0 : 1;
}
