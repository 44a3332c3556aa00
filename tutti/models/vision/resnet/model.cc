#include "tutti/models/vision/resnet/model.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "tutti/core/error.h"

namespace tutti::models::resnet {
namespace {

struct Plan {
  std::vector<int> blocks;  // of each stage
  int filters = 64;
  bool is_bottleneck = false, is_small = false;
};

Plan plan_of(int depth) {
  switch (depth) {
    case 18: return {{2, 2, 2, 2}};
    case 34: return {{3, 4, 6, 3}};
    case 50: return {{3, 4, 6, 3}, 64, true};
    case 101: return {{3, 4, 23, 3}, 64, true};
    case 152: return {{3, 8, 36, 3}, 64, true};
    default: break;
  }
  if (depth % 6 != 2)
    throw ConfigError("DDL-1-94", fmt::format("There is no residual network of depth {}: take 18, "
                                              "34, 50, 101, 152, or 20, 32, 44, 56, 110.",
                                              depth));
  const int blocks = (depth - 2) / 6;
  return {{blocks, blocks, blocks}, 16, false, true};
}

// Adds layers and knows how many channels and pixels the last one had.
class Builder {
 public:
  Builder(int channels, int side) : channels_(channels), side_(side) {}

  void conv(const std::string& name, int out, int kernel, int stride, bool is_last = false) {
    side_ = (side_ + stride - 1) / stride;
    add(name, channels_, out, kernel, stride, is_last);
    channels_ = out;
  }
  void block(const Block& block, int filters, int stride) {
    const int in = channels_, out = block.is_bottleneck ? 4 * filters : filters;
    if (block.is_bottleneck) {
      conv(block.name + "_a", filters, 1, 1);
      conv(block.name + "_b", filters, 3, stride);
      conv(block.name + "_c", out, 1, 1, true);
    } else {
      conv(block.name + "_a", filters, 3, stride);
      conv(block.name + "_b", out, 3, 1, true);
    }
    if (block.has_shortcut) add(block.name + "_shortcut", in, out, 1, stride, false);
  }
  void pool() { side_ = (side_ + 1) / 2; }
  void linear(int out) { layers_.push_back({.name = "linear", .in = channels_, .out = out}); }
  int channels() const { return channels_; }
  std::vector<Layer> take() { return std::move(layers_); }

 private:
  void add(const std::string& name, int in, int out, int kernel, int stride, bool is_last) {
    layers_.push_back({.name = name,
                       .in = in,
                       .out = out,
                       .kernel = kernel,
                       .stride = stride,
                       .height = side_,
                       .width = side_,
                       .has_bias = false,
                       .has_norm = true,
                       .starts_silent = is_last});
  }
  int channels_, side_;
  std::vector<Layer> layers_;
};

}  // namespace

std::vector<Layer> layers_of(const NetworkShape& shape, std::vector<Block>* blocks) {
  const Plan plan = plan_of(shape.depth);
  const bool is_large = !plan.is_small && shape.has_large_stem;
  Builder builder(3, shape.image);
  builder.conv("stem", plan.filters, is_large ? 7 : 3, is_large ? 2 : 1);
  if (is_large) builder.pool();
  int filters = plan.filters;
  for (std::size_t stage = 0; stage < plan.blocks.size(); ++stage, filters *= 2)
    for (int i = 0; i < plan.blocks[stage]; ++i) {
      const int stride = stage > 0 && i == 0 ? 2 : 1;
      const int out = plan.is_bottleneck ? 4 * filters : filters;
      const Block block{fmt::format("stage{}_{}", stage + 1, i + 1), plan.is_bottleneck,
                        stride != 1 || builder.channels() != out};
      builder.block(block, filters, stride);
      if (blocks) blocks->push_back(block);
    }
  builder.linear(shape.classes);
  return builder.take();
}

Network::Network(const NetworkShape& shape, std::uint64_t seed, torch::ScalarType dtype)
    : LayerStack(layers_of(shape), seed, dtype) {
  layers_of(shape, &blocks_);
  pools_ = layers().front().kernel == 7;
  mean_ = register_buffer("input_mean", torch::full({1, 3, 1, 1}, 128.f));
  spread_ = register_buffer("input_spread", torch::full({1, 3, 1, 1}, 64.f));
}

void Network::set_scale(const std::array<float, 3>& mean, const std::array<float, 3>& spread) {
  const torch::NoGradGuard no_gradients;
  for (std::int64_t i = 0; i < 3; ++i) {
    mean_[0][i].fill_(mean[static_cast<std::size_t>(i)]);
    spread_[0][i].fill_(spread[static_cast<std::size_t>(i)]);
  }
}

torch::Tensor Network::block(const Block& block, const torch::Tensor& input) {
  torch::Tensor x = apply(block.name + "_a", input, true);
  x = apply(block.name + "_b", x, block.is_bottleneck);
  if (block.is_bottleneck) x = apply(block.name + "_c", x);
  return torch::relu(x + (block.has_shortcut ? apply(block.name + "_shortcut", input) : input));
}

torch::Tensor Network::stem(const torch::Tensor& images) {
  const torch::Tensor x = apply("stem", (images - mean_) / spread_, true);
  return pools_ ? torch::max_pool2d(x, 3, 2, 1) : x;
}

torch::Tensor Network::scores(const torch::Tensor& x) {
  const torch::Tensor mean = at_least_f32(x).mean({2, 3}, true);
  return at_least_f32(apply("linear", mean)).flatten(1);
}

torch::Tensor Network::forward(const torch::Tensor& images) {
  torch::Tensor x = stem(images);
  for (const Block& one : blocks_) x = block(one, x);
  return scores(x);
}

std::vector<train::Layer> Network::parts() {
  std::vector<train::Layer> all;
  std::size_t next = 0;
  auto add = [&](std::size_t count, auto forward) {
    all.push_back(part(next, next + count,
                       [forward](const torch::Tensor& x, std::uint64_t) { return forward(x); }));
    next += count;
  };
  add(1, [this](const torch::Tensor& x) { return stem(x); });
  for (const Block& one : blocks_)
    add((one.is_bottleneck ? 3u : 2u) + (one.has_shortcut ? 1u : 0u),
        [this, &one](const torch::Tensor& x) { return block(one, x); });
  add(1, [this](const torch::Tensor& x) { return scores(x); });
  return all;
}

}  // namespace tutti::models::resnet
