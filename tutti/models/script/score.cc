#include "tutti/models/script/score.h"

#include <fmt/format.h>
#include <torch/types.h>

namespace tutti::models::script {
namespace {

constexpr std::int64_t kMostReported = 16;
enum Row : std::int64_t { kCount, kRightOrError, kSum, kSquares, kRows };

}  // namespace

bool Score::counts() const {
  return loss_ == Loss::kCrossEntropy || loss_ == Loss::kBinaryCrossEntropy;
}

// All pixels of a class map count as one output.
Score::Score(Loss loss, std::int64_t outputs, torch::Tensor origin)
    : loss_(loss),
      outputs_(loss_ == Loss::kCrossEntropy ? 1 : outputs),
      origin_(origin.to(torch::kFloat64).reshape({1, -1})),
      sums_(torch::zeros({kRows, outputs_}, torch::kFloat64)) {}

void Score::add(const torch::Tensor& output, const torch::Tensor& target, double loss) {
  const auto samples = static_cast<double>(target.size(0));
  losses_ += samples * loss;
  samples_ += samples;
  if (loss_ == Loss::kCrossEntropy) {
    sums_[kCount] += static_cast<double>(target.numel());
    sums_[kRightOrError] += (output.argmax(1) == target).sum().to(torch::kFloat64);
    return;
  }
  const torch::Tensor out = output.to(torch::kFloat64).reshape({-1, outputs_}),
                      wanted = target.to(torch::kFloat64).reshape({-1, outputs_});
  sums_[kCount] += samples;
  if (counts()) {
    sums_[kRightOrError] += ((out > 0) == (wanted > 0.5)).sum(0).to(torch::kFloat64);
    return;
  }
  const torch::Tensor moved = wanted - origin_;
  sums_[kRightOrError] += (out - wanted).square().sum(0);
  sums_[kSum] += moved.sum(0);
  sums_[kSquares] += moved.square().sum(0);
}

train::Metrics Score::metrics(comm::Communicator& communicator) const {
  torch::Tensor all =
      torch::cat({sums_.reshape({-1}), torch::tensor({losses_, samples_}, torch::kFloat64)});
  communicator.all_reduce({all.data_ptr<double>(), all.numel(), DType::kF64}, ReduceOp::kSum,
                          {.name = "evaluation"});
  const double loss = all[-2].item<double>() / all[-1].item<double>();
  const torch::Tensor sums = all.narrow(0, 0, kRows * outputs_).reshape({kRows, outputs_});
  torch::Tensor each = sums[kRightOrError] / sums[kCount];
  if (!counts()) {
    const torch::Tensor variance = sums[kSquares] - sums[kSum].square() / sums[kCount],
                        error = sums[kRightOrError];
    each = torch::where(variance > 0, 1 - error / variance, (error == 0).to(torch::kFloat64));
  }
  const std::string name = counts() ? "accuracy" : "explained";
  train::Metrics metrics = {{name, each.mean().item<double>()}, {"loss", loss}};
  if (outputs_ > 1 && outputs_ <= kMostReported)
    for (std::int64_t i = 0; i < outputs_; ++i)
      metrics.emplace_back(fmt::format("{}_{}", name, i), each[i].item<double>());
  return metrics;
}

}  // namespace tutti::models::script
