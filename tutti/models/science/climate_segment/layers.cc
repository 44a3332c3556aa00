// Both networks as lists of layers.
#include <fmt/format.h>

#include "tutti/models/science/climate_segment/model.h"

namespace tutti::models::climate_segment {

std::vector<Layer> layers_of(const TiramisuShape& shape) {
  std::vector<Layer> layers;
  int height = shape.height, width = shape.width, channels = shape.first;
  auto add = [&](const std::string& name, int in, int out, int kernel, int stride = 1,
                 bool is_transposed = false) {
    layers.push_back({.name = name,
                      .in = in,
                      .out = out,
                      .kernel = kernel,
                      .stride = stride,
                      .height = height,
                      .width = width,
                      .is_transposed = is_transposed});
  };
  auto dense = [&](const std::string& name, int count) {
    for (int i = 0; i < count; ++i)
      add(fmt::format("{}_{}", name, i), channels + i * shape.growth, shape.growth, shape.kernel);
  };
  add("first", shape.channels, shape.first, shape.kernel);
  std::vector<int> skips;
  for (std::size_t b = 0; b < shape.down.size(); ++b) {
    dense(fmt::format("down{}", b), shape.down[b]);
    if (b + 1 == shape.down.size()) break;
    channels += shape.down[b] * shape.growth;
    skips.push_back(channels);
    height /= 2;
    width /= 2;
    add(fmt::format("halve{}", b), channels, channels, 1, 2);
  }
  int added = shape.down.back() * shape.growth;
  for (std::size_t b = 0; b < shape.up.size(); ++b) {
    height *= 2;
    width *= 2;
    add(fmt::format("double{}", b), added, added, 3, 2, true);
    channels = skips[skips.size() - 1 - b] + added;
    dense(fmt::format("up{}", b), shape.up[b]);
    added = shape.up[b] * shape.growth;
  }
  add("last", channels + added, shape.classes, 1);
  return layers;
}

namespace {

class DeepLabBuilder {
 public:
  explicit DeepLabBuilder(const DeepLabShape& shape) : shape_(shape) {}

  std::vector<Layer> build() {
    add("stem", shape_.channels, shape_.filters, 7, 2, {.stride = 2, .has_norm = false});
    int in = shape_.filters;
    for (std::size_t block = 0; block < shape_.units.size(); ++block)
      for (int unit = 0; unit < shape_.units[block]; ++unit) in = add_unit(block, unit, in);
    add_pyramid(in);
    add_decoder();
    return std::move(layers_);
  }

 private:
  struct Kind {
    int stride = 1, dilation = 1;
    bool is_transposed = false, has_norm = true;
  };
  // `share`: the output has the size of the input divided by it.
  void add(const std::string& name, int in, int out, int kernel, int share, const Kind& kind) {
    layers_.push_back({.name = name,
                       .in = in,
                       .out = out,
                       .kernel = kernel,
                       .stride = kind.stride,
                       .dilation = kind.dilation,
                       .height = shape_.height / share,
                       .width = shape_.width / share,
                       .has_bias = !kind.has_norm,
                       .has_norm = kind.has_norm,
                       .is_transposed = kind.is_transposed});
  }

  // The last unit of the first block goes to an eighth; later blocks widen their kernels instead.
  int add_unit(std::size_t block, int unit, int in) {
    const int base = shape_.filters << block, out = 4 * base;
    const bool halves = block == 0 && unit + 1 == shape_.units[0];
    const int before = block == 0 ? 4 : 8, after = halves ? 8 : before;
    const int dilation = block < 2 ? 1 : block == 2 ? 2 : 4;
    const std::string name = fmt::format("block{}_{}", block + 1, unit + 1);
    add(name + "_norm", in, in, 0, before, {});
    if (in != out)
      add(name + "_shortcut", in, out, 1, after, {.stride = halves ? 2 : 1, .has_norm = false});
    add(name + "_a", in, base, 1, before, {});
    add(name + "_b", base, base, 3, after, {.stride = halves ? 2 : 1, .dilation = dilation});
    add(name + "_c", base, out, 1, after, {.has_norm = false});
    return out;
  }

  void add_pyramid(int in) {
    const int p = shape_.pyramid;
    add("code_norm", in, in, 0, 8, {});
    add("pyramid0", in, p, 1, 8, {});
    for (std::size_t i = 0; i < shape_.rates.size(); ++i)
      add(fmt::format("pyramid{}", i + 1), in, p, 3, 8, {.dilation = shape_.rates[i]});
    layers_.push_back({.name = "pyramid_mean", .in = in, .out = p});
    add("pyramid_joint", (2 + int(shape_.rates.size())) * p, p, 1, 8, {});
  }

  void add_decoder() {
    const int p = shape_.pyramid;
    add("low", shape_.filters, shape_.low, 1, 4, {});
    add("double1", p, p, 3, 4, {.stride = 2, .is_transposed = true});
    add("decode1", p + shape_.low, p, 3, 4, {});
    add("decode2", p, p, 3, 4, {});
    add("double2", p, p, 3, 2, {.stride = 2, .is_transposed = true});
    add("double3", p, p, 3, 1, {.stride = 2, .is_transposed = true});
    add("input1", shape_.channels, p / 4, 3, 1, {});
    layers_.back().sees_input = true;
    add("input2", p / 4, p / 2, 3, 1, {});
    add("decode3", p + p / 2, p, 3, 1, {});
    add("decode4", p, p, 3, 1, {});
    add("last", p, shape_.classes, 1, 1, {.has_norm = false});
  }

  const DeepLabShape& shape_;
  std::vector<Layer> layers_;
};

}  // namespace

std::vector<Layer> layers_of(const DeepLabShape& shape) {
  return DeepLabBuilder(shape).build();
}

}  // namespace tutti::models::climate_segment
