#include <ATen/Functions.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "tutti/lms/tiling/operators.h"
#include "tutti/lms/tiling/tile_size.h"
#include "tutti/lms/tiling/tiles.h"

namespace tutti::lms {
namespace {

using at::Tensor;
using Results = std::tuple<Tensor, Tensor, Tensor>;

// Statistics are per channel (batch norm) or per sample and group of channels (group norm). A tile is therefore a range
// of channels, for batch norm of all samples, for group norm of one sample and a multiple of the group size. The
// operator is called on a dense copy of the range; its results are copied to the same range of the full results.
// All results are set range by range, except the gradients of weights and biases of group norm, which are added up
// over the samples.

// Range of channels that is normalised in one call.
struct Channels {
  std::int64_t begin, count;
  // The part of a tensor with one value per channel; undefined and empty tensors are returned unchanged.
  Tensor values_of(const Tensor& tensor) const {
    return tensor.defined() && tensor.numel() > 0 ? range_of(tensor, 0, begin, count) : tensor;
  }
  // A dense copy of this range of the volumes.
  Tensor dense(const Tensor& volumes) const {
    const Tensor part = range_of(volumes, 1, begin, count);
    if (part.is_contiguous()) return part;
    Tensor copy = at::empty(part.sizes(), part.options());
    copy_in_tiles(copy, part);
    return copy;
  }
};

// Ranges of `channels` channels that are multiples of `unit`. `bytes`: of all channels.
std::vector<Channels> ranges_of(std::int64_t channels, std::int64_t unit, std::int64_t bytes) {
  const std::int64_t units = channels / unit;
  const std::int64_t step = std::clamp<std::int64_t>(tile_bytes() / (bytes / units), 1, units);
  std::vector<Channels> ranges;
  for (std::int64_t at = 0; at < units; at += step)
    ranges.push_back({at * unit, std::min(step, units - at) * unit});
  return ranges;
}

// One value per channel, collected from the ranges; undefined or empty if theirs are.
class ChannelValues {
 public:
  explicit ChannelValues(std::int64_t channels) : channels_(channels) {}
  void set(const Channels& range, const Tensor& values) {
    if (!values.defined() || values.numel() == 0) {
      all_ = values;
      return;
    }
    if (!all_.defined()) all_ = at::empty({channels_}, values.options());
    range.values_of(all_).copy_(values);
  }
  const Tensor& all() const { return all_; }

 private:
  const std::int64_t channels_;
  Tensor all_;
};

bool is_supported(const Call& call, const Tensor& input) {
  return call.is_plain() && input.dim() >= 3 && input.numel() > 0 && call.is_large(bytes_of(input));
}

bool run_batch_norm(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  Call call(op, stack);
  const Tensor input = call.tensor(0);
  if (!is_supported(call, input)) return false;
  const std::int64_t channels = input.size(1);
  const Tensor output = at::empty_like(input);
  ChannelValues mean(channels), deviation(channels);
  for (const Channels& range : ranges_of(channels, 1, 2 * bytes_of(input))) {
    const auto [part, part_mean, part_deviation] = at::native_batch_norm(
        range.dense(input), range.values_of(call.tensor(1)), range.values_of(call.tensor(2)),
        range.values_of(call.tensor(3)), range.values_of(call.tensor(4)), call[5].toBool(),
        call[6].toDouble(), call[7].toDouble());
    copy_in_tiles(range_of(output, 1, range.begin, range.count), part);
    mean.set(range, part_mean);
    deviation.set(range, part_deviation);
  }
  return call.finish({output, mean.all(), deviation.all()});
}

std::array<bool, 3> mask_of(const Call& call, std::size_t index) {
  const auto list = call[index].toBoolList();
  return {list.get(0), list.get(1), list.get(2)};
}

bool run_batch_norm_backward(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  Call call(op, stack);
  const Tensor gradient = call.tensor(0), input = call.tensor(1);
  if (!is_supported(call, input)) return false;
  const std::int64_t channels = input.size(1);
  const std::array<bool, 3> mask = mask_of(call, 9);
  const Tensor input_gradient = mask[0] ? at::empty_like(input) : Tensor();
  ChannelValues weight_gradient(channels), bias_gradient(channels);
  for (const Channels& range : ranges_of(channels, 1, 3 * bytes_of(input))) {
    const auto [of_input, of_weight, of_bias] = at::native_batch_norm_backward(
        range.dense(gradient), range.dense(input), range.values_of(call.tensor(2)),
        range.values_of(call.tensor(3)), range.values_of(call.tensor(4)),
        range.values_of(call.tensor(5)), range.values_of(call.tensor(6)), call[7].toBool(),
        call[8].toDouble(), mask);
    if (mask[0]) copy_in_tiles(range_of(input_gradient, 1, range.begin, range.count), of_input);
    weight_gradient.set(range, of_weight);
    bias_gradient.set(range, of_bias);
  }
  return call.finish({input_gradient, weight_gradient.all(), bias_gradient.all()});
}

// The arguments N, C, HxW and group of group norm, from argument `first`.
struct Groups {
  Groups(const Call& call, std::size_t first)
      : samples(call[first].toInt()),
        channels(call[first + 1].toInt()),
        elements(call[first + 2].toInt()),
        count(call[first + 3].toInt()) {}
  std::int64_t size() const { return channels / count; }  // channels
  // The values of one sample in a tensor (samples, groups).
  Tensor part_of(const Tensor& values, std::int64_t sample, const Channels& range) const {
    return range_of(range_of(values, 0, sample, 1), 1, range.begin / size(), range.count / size());
  }
  std::int64_t samples, channels, elements, count;
};

bool is_supported(const Call& call, const Tensor& input, const Groups& groups) {
  return is_supported(call, input) && input.is_contiguous() && input.size(0) == groups.samples &&
         input.size(1) == groups.channels;
}

bool run_group_norm(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  Call call(op, stack);
  const Tensor input = call.tensor(0);
  const Groups groups(call, 3);
  if (!is_supported(call, input, groups)) return false;
  const Tensor output = at::empty_like(input);
  Tensor mean, deviation;
  for (std::int64_t sample = 0; sample < groups.samples; ++sample)
    for (const Channels& range :
         ranges_of(groups.channels, groups.size(), 2 * bytes_of(input) / groups.samples)) {
      const auto [part, part_mean, part_deviation] = at::native_group_norm(
          range.dense(range_of(input, 0, sample, 1)), range.values_of(call.tensor(1)),
          range.values_of(call.tensor(2)), 1, range.count, groups.elements,
          range.count / groups.size(), call[7].toDouble());
      if (!mean.defined()) {
        mean = at::empty({groups.samples, groups.count}, part_mean.options());
        deviation = at::empty({groups.samples, groups.count}, part_deviation.options());
      }
      copy_in_tiles(range_of(range_of(output, 0, sample, 1), 1, range.begin, range.count), part);
      groups.part_of(mean, sample, range).copy_(part_mean);
      groups.part_of(deviation, sample, range).copy_(part_deviation);
    }
  return call.finish({output, mean, deviation});
}

bool run_group_norm_backward(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  Call call(op, stack);
  const Tensor gradient = call.tensor(0), input = call.tensor(1), weight = call.tensor(4);
  const Groups groups(call, 5);
  if (!is_supported(call, input, groups)) return false;
  const std::array<bool, 3> mask = mask_of(call, 9);
  const Tensor input_gradient = mask[0] ? at::empty_like(input) : Tensor();
  const auto zeros = [&](bool is_wanted) {
    return is_wanted ? at::zeros({groups.channels}, call.tensor(2).options()) : Tensor();
  };
  const Tensor weight_gradient = zeros(mask[1]), bias_gradient = zeros(mask[2]);
  for (std::int64_t sample = 0; sample < groups.samples; ++sample)
    for (const Channels& range :
         ranges_of(groups.channels, groups.size(), 3 * bytes_of(input) / groups.samples)) {
      const auto [of_input, of_weight, of_bias] = at::native_group_norm_backward(
          range.dense(range_of(gradient, 0, sample, 1)), range.dense(range_of(input, 0, sample, 1)),
          groups.part_of(call.tensor(2), sample, range),
          groups.part_of(call.tensor(3), sample, range), range.values_of(weight), 1, range.count,
          groups.elements, range.count / groups.size(), mask);
      if (mask[0])
        copy_in_tiles(range_of(range_of(input_gradient, 0, sample, 1), 1, range.begin, range.count),
                      of_input);
      if (mask[1]) range.values_of(weight_gradient).add_(of_weight);
      if (mask[2]) range.values_of(bias_gradient).add_(of_bias);
    }
  return call.finish({input_gradient, weight_gradient, bias_gradient});
}

}  // namespace

std::vector<TiledOperator> normalization_operators() {
  return {{{"aten::native_batch_norm", ""}, &run_batch_norm},
          {{"aten::native_batch_norm_backward", ""}, &run_batch_norm_backward},
          {{"aten::native_group_norm", ""}, &run_group_norm},
          {{"aten::native_group_norm_backward", ""}, &run_group_norm_backward}};
}

}  // namespace tutti::lms
