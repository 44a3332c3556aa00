#include "tutti/train/batch_norm.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include <numeric>

namespace tutti::train {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

thread_local comm::Communicator* current_group = nullptr;

// All dimensions but that of the channels.
std::vector<std::int64_t> other_dimensions(const Tensor& input) {
  std::vector<std::int64_t> all = {0};
  for (std::int64_t d = 2; d < input.dim(); ++d) all.push_back(d);
  return all;
}

// (C) -> (1, C, 1, ...), to be multiplied with the input.
Tensor as_channels(const Tensor& values, const Tensor& input) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(input.dim()), 1);
  shape[1] = values.numel();
  return values.to(torch::kFloat32).reshape(shape);
}

void sum_over_ranks(comm::Communicator& group, Tensor& values) {
  group.all_reduce({values.data_ptr<double>(), values.numel(), DType::kF64}, ReduceOp::kSum,
                   {.name = "batch norm"});
}

// With n samples of mean m and variance v per rank, the sums of n, n m and n (v + m^2) over the ranks give the
// statistics of all samples. In the backward pass, the gradient of an input needs the sums over all samples of the
// output gradient, and of its product with the normalised input.
class SyncBatchNormFunction : public torch::autograd::Function<SyncBatchNormFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& input, const Tensor& scale,
                        const Tensor& shift, Tensor running_mean, Tensor running_variance,
                        double momentum, double epsilon, std::int64_t group) {
    auto& ranks = *reinterpret_cast<comm::Communicator*>(group);
    const Tensor x = input.to(torch::kFloat32);
    const std::int64_t channels = x.size(1);
    const auto [variance, mean] = torch::var_mean(x, other_dimensions(x), false);
    const double mine = double(x.numel()) / double(channels);
    const Tensor m = mean.to(torch::kFloat64), v = variance.to(torch::kFloat64);
    Tensor sums =
        torch::cat({mine * m, mine * (v + m * m), torch::full({1}, mine, torch::kFloat64)});
    sum_over_ranks(ranks, sums);
    const double count = sums[2 * channels].item<double>();
    const Tensor all_mean = sums.narrow(0, 0, channels) / count;
    const Tensor all_variance =
        (sums.narrow(0, channels, channels) / count - all_mean * all_mean).clamp_min(0);
    if (running_mean.defined()) {
      running_mean.mul_(1 - momentum).add_(momentum * all_mean);
      running_variance.mul_(1 - momentum)
          .add_(momentum * all_variance * (count / std::max(1.0, count - 1)));
    }
    const Tensor inverse = (all_variance + epsilon).rsqrt();
    context->save_for_backward({input, scale, all_mean, inverse});
    context->saved_data["count"] = count;
    context->saved_data["group"] = group;
    const Tensor factor = inverse * scale;
    return (x * as_channels(factor, x) + as_channels(shift - all_mean * factor, x))
        .to(input.scalar_type());
  }

  static tensor_list backward(AutogradContext* context, tensor_list gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor x = saved[0].to(torch::kFloat32), gradient = gradients[0].to(torch::kFloat32);
    const Tensor scale = saved[1], mean = saved[2], inverse = saved[3];
    const double count = context->saved_data["count"].toDouble();
    auto& ranks = *reinterpret_cast<comm::Communicator*>(context->saved_data["group"].toInt());
    const Tensor normal = (x - as_channels(mean, x)) * as_channels(inverse, x);
    const auto others = other_dimensions(x);
    const Tensor to_shift = gradient.sum(others), to_scale = (gradient * normal).sum(others);
    Tensor sums = torch::cat({to_shift, to_scale}).to(torch::kFloat64);
    sum_over_ranks(ranks, sums);
    const std::int64_t channels = x.size(1);
    const Tensor to_input = (gradient - as_channels(sums.narrow(0, 0, channels) / count, x) -
                             normal * as_channels(sums.narrow(0, channels, channels) / count, x)) *
                            as_channels(inverse * scale, x);
    const Tensor none;
    return {to_input.to(saved[0].scalar_type()), to_scale, to_shift, none, none, none, none, none};
  }
};

}  // namespace

SyncBatchNormScope::SyncBatchNormScope(comm::Communicator& group) : before_(current_group) {
  current_group = group.size() > 1 ? &group : nullptr;
}

SyncBatchNormScope::~SyncBatchNormScope() {
  current_group = before_;
}

Tensor batch_norm(const Tensor& input, const Tensor& scale, const Tensor& shift,
                  const Tensor& running_mean, const Tensor& running_variance, bool is_training,
                  double momentum, double epsilon) {
  if (!is_training || !current_group)
    return torch::batch_norm(input, scale, shift, running_mean, running_variance, is_training,
                             momentum, epsilon, false);
  return SyncBatchNormFunction::apply(input, scale, shift, running_mean, running_variance, momentum,
                                      epsilon, reinterpret_cast<std::int64_t>(current_group));
}

}  // namespace tutti::train
