#include "tutti/models/vision/unet3d/shape.h"

#include <fmt/format.h>

#include "tutti/core/error.h"
#include "tutti/models/vision/unet3d/head.h"

namespace tutti::models::unet3d {
namespace {

double cube(int side) {
  return double(side) * side * side;
}

void check(const NetworkShape& shape) {
  if (const int least = 1 << (shape.depth - 1); shape.volume % least != 0)
    throw ConfigError("DDL-1-99", fmt::format("Volumes with a side of {} voxels cannot be halved "
                                              "{} times. Use a multiple of {}, or a smaller depth.",
                                              shape.volume, shape.depth - 1, least));
}

}  // namespace

std::vector<std::vector<Layer>> steps_of(const NetworkShape& shape) {
  check(shape);
  std::vector<std::vector<Layer>> steps;
  int channels = kModalities;
  auto convolution = [&](const std::string& name, int in, int out, int side) {
    channels = out;
    return Layer{name, in, out, 3, side, shape.has_norm};
  };
  for (int level = 0; level < shape.depth; ++level) {
    const int filters = shape.filters << level, side = shape.volume >> level;
    const std::string name = fmt::format("down{}", level);
    std::vector<Layer>& step = steps.emplace_back();
    step.push_back(convolution(name + "_a", channels, filters, side));
    step.push_back(convolution(name + "_b", filters, 2 * filters, side));
  }
  for (int level = shape.depth - 2; level >= 0; --level) {
    const int filters = 2 * shape.filters << level, side = shape.volume >> level;
    const std::string name = fmt::format("up{}", level);
    std::vector<Layer>& step = steps.emplace_back();
    if (shape.has_deconvolution) step.push_back({name + "_double", channels, channels, 2, side});
    step.push_back(convolution(name + "_a", channels + filters, filters, side));
    step.push_back(convolution(name + "_b", filters, filters, side));
  }
  steps.push_back({{"last", channels, kLabels, 1, shape.volume}});
  return steps;
}

std::vector<Part> parts_before(const NetworkShape& shape, int step) {
  const int levels_up = 2 * shape.depth - 1 - step;
  const bool is_down = step < shape.depth;
  auto left_by = [&](int level) { return Part{2 * shape.filters << level, shape.volume >> level}; };
  std::vector<Part> parts;
  for (int level = 0; level < (is_down ? step : levels_up); ++level)
    parts.push_back(left_by(level));
  if (step == 0)
    parts.push_back({kModalities, shape.volume});
  else if (is_down)
    parts.push_back({2 * shape.filters << (step - 1), shape.volume >> step});
  else
    parts.push_back(left_by(levels_up));
  return parts;
}

double flops_of(const Layer& layer) {
  const double taps = layer.kernel == 2 ? 1 : layer.kernel * layer.kernel * layer.kernel;
  return 2.0 * layer.in * layer.out * taps * cube(layer.side);
}

std::int64_t parameter_count(const NetworkShape& shape) {
  std::int64_t count = 0;
  for (const auto& step : steps_of(shape))
    for (const Layer& layer : step)
      count += std::int64_t{layer.out} *
               (layer.in * layer.kernel * layer.kernel * layer.kernel + 1 + 2 * layer.has_norm);
  return count;
}

double forward_flops(const NetworkShape& shape) {
  double flops = 0;
  for (const auto& step : steps_of(shape))
    for (const Layer& layer : step) flops += flops_of(layer);
  return flops;
}

double train_flops(const NetworkShape& shape) {
  return 3 * forward_flops(shape) - flops_of(steps_of(shape)[0][0]);
}

double activation_bytes(const NetworkShape& shape, bool is_relu_in_place) {
  double values = 0;
  const auto steps = steps_of(shape);
  for (int step = 0; step < 2 * shape.depth; ++step) {
    const std::vector<Part> parts = parts_before(shape, step);
    for (const Layer& layer : steps[static_cast<std::size_t>(step)])
      if (layer.kernel != 2)  // the last one's sigmoid is never in place
        values += layer.out * cube(layer.side) * (is_relu_in_place && layer.kernel == 3 ? 1 : 2);
    const Part& taken = parts.back();
    if (step > 0 && step < shape.depth) values += taken.channels * cube(taken.side);  // pooled
    if (step >= shape.depth && step + 1 < 2 * shape.depth) {
      const Part& joined = parts[parts.size() - 2];
      values += (2.0 * taken.channels + joined.channels) * cube(joined.side);
    }
  }
  return 4 * values;
}

}  // namespace tutti::models::unet3d
