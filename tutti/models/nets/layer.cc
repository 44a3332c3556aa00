#include "tutti/models/nets/layer.h"

namespace tutti::models {
namespace {

double flops_of(const Layer& layer) {
  const double pixels = double(layer.height) * layer.width;
  const double outputs = layer.is_transposed ? pixels / (layer.stride * layer.stride) : pixels;
  return 2.0 * layer.in * layer.out * layer.kernel * layer.kernel * outputs;
}

}  // namespace

std::int64_t parameter_count(std::span<const Layer> layers) {
  std::int64_t count = 0;
  for (const Layer& layer : layers) {
    count += std::int64_t{layer.in} * layer.out * layer.kernel * layer.kernel;
    if (layer.has_bias && layer.kernel > 0) count += layer.out;
    if (layer.has_norm || layer.kernel == 0) count += 2 * layer.out;
  }
  return count;
}

double forward_flops(std::span<const Layer> layers) {
  double flops = 0;
  for (const Layer& layer : layers) flops += flops_of(layer);
  return flops;
}

double train_flops(std::span<const Layer> layers) {
  double flops = 3 * forward_flops(layers);
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (i == 0 || layers[i].sees_input) flops -= flops_of(layers[i]);
  return flops;
}

double output_values(std::span<const Layer> layers) {
  double values = 0;
  for (const Layer& layer : layers)
    values += double(layer.out) * layer.height * layer.width *
              (layer.has_norm && layer.kernel > 0 ? 2 : 1);
  return values;
}

}  // namespace tutti::models
