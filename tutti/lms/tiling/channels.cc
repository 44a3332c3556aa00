#include <ATen/Functions.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "tutti/lms/tiling/operators.h"
#include "tutti/lms/tiling/tile_size.h"
#include "tutti/lms/tiling/tiles.h"

namespace tutti::lms {
namespace {

using at::Tensor;
using c10::IValue;

// These operators treat every channel of every sample alike, so a tile is some channels of one sample. The operator is
// called with the tensors restricted to them, and with size arguments (of the input or the output) whose first two
// numbers are replaced by 1 and the number of channels. Running it on the first channel determines the shapes and types
// of the results.
constexpr const char* kChannelOperators[] = {
    "aten::_adaptive_avg_pool3d",
    "aten::_adaptive_avg_pool3d_backward",
    "aten::_upsample_nearest_exact3d",
    "aten::_upsample_nearest_exact3d_backward",
    "aten::avg_pool2d",
    "aten::avg_pool2d_backward",
    "aten::avg_pool3d",
    "aten::avg_pool3d_backward",
    "aten::max_pool2d_with_indices",
    "aten::max_pool2d_with_indices_backward",
    "aten::max_pool3d_with_indices",
    "aten::max_pool3d_with_indices_backward",
    "aten::upsample_bilinear2d",
    "aten::upsample_bilinear2d_backward",
    "aten::upsample_nearest2d",
    "aten::upsample_nearest2d_backward",
    "aten::upsample_nearest3d",
    "aten::upsample_nearest3d_backward",
    "aten::upsample_trilinear3d",
    "aten::upsample_trilinear3d_backward",
};

constexpr std::int64_t kLargestGrowth =
    16;  // of the total size of inputs and results, by upsampling

// The arguments of a call for some channels of one sample: tensors, and size arguments that include samples and
// channels.
class ChannelArguments {
 public:
  explicit ChannelArguments(const Call& call) : arguments_(call.arguments()) {
    const Tensor first = call.tensor(0);
    rank_ = first.dim();
    samples_ = first.size(0);
    channels_ = first.size(1);
  }
  // All tensors have samples and channels.
  bool is_supported() const {
    return std::all_of(arguments_.begin(), arguments_.end(), [&](const IValue& value) {
      return !value.isTensor() || has_channels(value.toTensor().sizes());
    });
  }
  std::vector<IValue> part(std::int64_t sample, std::int64_t channel, std::int64_t count) const {
    std::vector<IValue> part = arguments_;
    for (IValue& value : part) {
      if (value.isTensor()) {
        value = range_of(range_of(value.toTensor(), 0, sample, 1), 1, channel, count);
      } else if (value.isIntList() && has_channels(value.toIntVector())) {
        std::vector<std::int64_t> sizes = value.toIntVector();
        sizes[0] = 1;
        sizes[1] = count;
        value = sizes;
      }
    }
    return part;
  }
  std::int64_t samples() const { return samples_; }
  std::int64_t channels() const { return channels_; }

 private:
  bool has_channels(at::IntArrayRef sizes) const {
    return static_cast<std::int64_t>(sizes.size()) == rank_ && sizes[0] == samples_ &&
           sizes[1] == channels_;
  }

  std::vector<IValue> arguments_;
  std::int64_t rank_ = 0, samples_ = 0, channels_ = 0;
};

std::int64_t tensor_bytes(const std::vector<IValue>& values) {
  std::int64_t bytes = 0;
  for (const IValue& value : values)
    if (value.isTensor()) bytes += bytes_of(value.toTensor());
  return bytes;
}

Tensor empty_for(const Tensor& part, std::int64_t samples, std::int64_t channels) {
  std::vector<std::int64_t> sizes = part.sizes().vec();
  sizes[0] = samples;
  sizes[1] = channels;
  return at::empty(sizes, part.options());
}

// The first channel determines the sizes of the results. `rank`: of tensors with samples.
bool run_by_channel(const c10::OperatorHandle& op, std::int64_t rank, torch::jit::Stack& stack) {
  Call call(op, stack);
  if (!call.is_plain() || call.tensor(0).dim() != rank) return false;
  const ChannelArguments arguments(call);
  if (!arguments.is_supported() || call.tensor(0).numel() == 0) return false;
  const std::int64_t samples = arguments.samples(), channels = arguments.channels();
  if (call.tensor(0).suggest_memory_format() != at::MemoryFormat::Contiguous) return false;

  std::vector<IValue> first = arguments.part(0, 0, 1);
  const std::int64_t input_bytes = tensor_bytes(first);
  if (input_bytes * samples * channels * kLargestGrowth <= tile_bytes()) return false;
  op.callBoxed(&first);
  const std::int64_t bytes = input_bytes + tensor_bytes(first);
  if (bytes * samples * channels <= tile_bytes()) return false;
  std::vector<IValue> results;
  for (const IValue& part : first)
    results.emplace_back(empty_for(part.toTensor(), samples, channels));
  first.clear();

  const std::int64_t step = std::clamp<std::int64_t>(tile_bytes() / bytes, 1, channels);
  for (std::int64_t sample = 0; sample < samples; ++sample)
    for (std::int64_t channel = 0; channel < channels; channel += step) {
      const std::int64_t count = std::min(step, channels - channel);
      std::vector<IValue> parts = arguments.part(sample, channel, count);
      op.callBoxed(&parts);
      for (std::size_t i = 0; i < parts.size(); ++i)
        copy_in_tiles(range_of(range_of(results[i].toTensor(), 0, sample, 1), 1, channel, count),
                      parts[i].toTensor());
    }
  return call.finish(std::move(results));
}

}  // namespace

std::vector<TiledOperator> channel_operators() {
  std::vector<TiledOperator> operators;
  for (const char* const name : kChannelOperators) {
    const std::int64_t rank = std::string_view(name).find("3d") != std::string_view::npos ? 5 : 4;
    operators.push_back(
        {{name, ""}, [rank](const c10::OperatorHandle& op, torch::jit::Stack& stack) {
           return run_by_channel(op, rank, stack);
         }});
  }
  return operators;
}

}  // namespace tutti::lms
