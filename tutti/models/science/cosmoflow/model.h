// The networks of CosmoFlow (arXiv:1808.04728) and of its MLPerf HPC benchmark.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tutti/models/science/cosmoflow/case.h"

namespace tutti::models::cosmoflow {

struct NetworkShape {
  bool is_mlperf = false;
  int volume = 128, filters = 16;
  double dropout = 0.5;
  // Batch normalisation of the input of the dense layers. The outputs of the convolutions differ by a few per cent
  // between universes, less than one update changes all of them. Without normalisation, training spends its first
  // thousands of steps on their common part. The paper's final network has none.
  bool has_norm = false;
  // Input of the dense layers: the whole output of the last convolution, as published, or the spatial means of the
  // outputs of all convolutions. The parameters determine the strength of structure on each scale, wherever it is; the
  // means measure exactly that. Single voxels, of which a small network has few at its end, mostly show where structure
  // happens to be, and many universes are needed to learn to ignore it.
  bool reads_means = false;
  int channels() const { return is_mlperf ? 4 : 1; }
  int outputs() const { return is_mlperf ? 4 : 3; }
};

// A convolution and the pooling after it.
struct Layer {
  int in = 1, out = 16, kernel = 3, stride = 1, padding = 0;
  bool has_pool = true;
  int side = 0;    // of the output, before pooling
  int pooled = 0;  // after pooling
};
// The convolutions. Those of the paper shrink the volume; for volumes smaller than the paper's 128, the last ones are
// omitted.
std::vector<Layer> layers(const NetworkShape& shape);
// Widths of the dense part: input, two hidden layers, number of parameters.
std::vector<int> dense_widths(const NetworkShape& shape);

std::int64_t parameter_count(const NetworkShape& shape);
// Operations per volume, 2 per multiply-add: forward, and with both gradients (none for the input).
double forward_flops(const NetworkShape& shape);
double train_flops(const NetworkShape& shape);
// Number of output values of convolutions and pooling per volume.
double output_values(const NetworkShape& shape);

class Network : public torch::nn::Module {
 public:
  // Xavier initialisation from this seed; biases 0.1 (paper) or 0. `dtype` is the type of the computation.
  Network(const NetworkShape& shape, std::uint64_t seed, torch::ScalarType dtype);

  // (N, channels, side, side, side) -> (N, outputs) in f32, in the units of the network.
  torch::Tensor forward(const torch::Tensor& volumes, std::uint64_t seed = 0);

  // The same as steps, for pipeline parallelism: every convolution, then every dense layer. Each takes the output of
  // the previous one. With `reads_means`, the tensor between convolutions is (N, values): the means so far, then the
  // volume.
  int steps() const { return static_cast<int>(layers_.size() + dense_weights_.size()); }
  torch::Tensor forward_step(int step, const torch::Tensor& input, std::uint64_t seed = 0);
  double step_flops(int step) const;
  std::size_t step_buffers(int step) const;  // of the norm; every step has two parameters

  // Writes TorchScript that takes densities, applies the option `input`, and returns physical units: centre + scale *
  // output.
  void export_script(std::ostream& out, Input input, const std::vector<double>& centres,
                     const std::vector<double>& scales) const;

 private:
  torch::Tensor convolved(std::size_t i, const torch::Tensor& x) const;
  torch::Tensor dense(std::size_t i, torch::Tensor x, std::uint64_t seed);

  NetworkShape shape_;
  torch::ScalarType dtype_;
  std::vector<Layer> layers_;
  std::vector<torch::Tensor> weights_, biases_, dense_weights_, dense_biases_;
  torch::Tensor norm_mean_, norm_variance_;
};

}  // namespace tutti::models::cosmoflow
