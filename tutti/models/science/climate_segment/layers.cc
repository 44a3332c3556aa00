// Tiramisu as a list of layers, DeepLab as a graph.
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

using enum Activation;
using Id = Graph::Id;

class DeepLabBuilder {
 public:
  explicit DeepLabBuilder(const DeepLabShape& shape)
      : shape_(shape), graph_(shape.channels, shape.height, shape.width) {}

  Graph build() {
    Id x = graph_.layer({.name = "stem", .out = shape_.filters, .kernel = 7, .stride = 2},
                        {Graph::kInput});
    x = graph_.max_pool(x, 3, 2);
    for (std::size_t block = 0; block < shape_.units.size(); ++block)
      for (int unit = 0; unit < shape_.units[block]; ++unit) x = add_unit(block, unit, x);
    add_decoder(add_pyramid(add({.name = "code_norm", .kernel = 0}, {x})));
    return std::move(graph_);
  }

 private:
  // Layer with norm and ReLU.
  Id add(Layer layer, const std::vector<Id>& inputs) {
    layer.has_bias = false;
    layer.has_norm = true;
    return graph_.layer(layer, inputs, kRelu);
  }
  Id add_upsample2x(const std::string& name, Id input) {
    return add(
        {.name = name, .out = shape_.pyramid, .kernel = 3, .stride = 2, .is_transposed = true},
        {input});
  }

  // The last unit of the first block reduces the resolution to an eighth; later blocks use dilation instead. The
  // decoder receives the features inside the first unit, which have the finest resolution with few channels.
  Id add_unit(std::size_t block, int unit, Id input) {
    const int base = shape_.filters << block, out = 4 * base;
    const bool halves = block == 0 && unit + 1 == shape_.units[0];
    const int stride = halves ? 2 : 1, dilation = block < 2 ? 1 : block == 2 ? 2 : 4;
    const std::string name = fmt::format("block{}_{}", block + 1, unit + 1);
    const Id active = add({.name = name + "_norm", .kernel = 0}, {input});
    const bool widens = graph_.channels(input) != out;
    Id shortcut = input;
    if (widens)
      shortcut = graph_.layer({.name = name + "_shortcut", .out = out, .stride = stride}, {active});
    const Id narrow = add({.name = name + "_a", .out = base}, {active});
    if (block == 0 && unit == 0) low_ = narrow;
    const Id wide =
        add({.name = name + "_b", .out = base, .kernel = 3, .stride = stride, .dilation = dilation},
            {narrow});
    const Id x = graph_.layer({.name = name + "_c", .out = out}, {wide});
    if (halves && !widens) shortcut = graph_.max_pool(input, 1, 2);
    return graph_.add(x, shortcut);
  }

  Id add_pyramid(Id code) {
    std::vector<Id> parts = {add({.name = "pyramid0", .out = shape_.pyramid}, {code})};
    for (std::size_t i = 0; i < shape_.rates.size(); ++i)
      parts.push_back(add({.name = fmt::format("pyramid{}", i + 1),
                           .out = shape_.pyramid,
                           .kernel = 3,
                           .dilation = shape_.rates[i]},
                          {code}));
    const Id mean =
        graph_.layer({.name = "pyramid_mean", .out = shape_.pyramid}, {graph_.mean(code)}, kRelu);
    parts.push_back(graph_.expand(mean, parts[0]));
    return add({.name = "pyramid_joint", .out = shape_.pyramid}, parts);
  }

  void add_decoder(Id x) {
    const int p = shape_.pyramid;
    const Id low = add({.name = "low", .out = shape_.low}, {low_});
    x = add_upsample2x("double1", x);
    x = add({.name = "decode1", .out = p, .kernel = 3}, {x, low});
    x = add({.name = "decode2", .out = p, .kernel = 3}, {x});
    x = add_upsample2x("double3", add_upsample2x("double2", x));
    const Id input = add({.name = "input1", .out = p / 4, .kernel = 3}, {Graph::kInput});
    x = add({.name = "decode3", .out = p, .kernel = 3},
            {x, add({.name = "input2", .out = p / 2, .kernel = 3}, {input})});
    x = add({.name = "decode4", .out = p, .kernel = 3}, {x});
    graph_.layer({.name = "last", .out = shape_.classes}, {x});
  }

  const DeepLabShape& shape_;
  Graph graph_;
  Id low_ = Graph::kInput;
};

}  // namespace

Graph graph_of(const DeepLabShape& shape) {
  return DeepLabBuilder(shape).build();
}

}  // namespace tutti::models::climate_segment
