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
  // Batch normalisation of what the dense layers see. Universes differ by a few per cent in what
  // the convolutions give, less than one update moves all of them together; without it, training
  // spends its first thousands of steps on what is common to all. The paper's final network has
  // none.
  bool has_norm = false;
  // What the dense layers see: all that the last convolution gives, as published; or the mean over
  // the volume of what every convolution gives. Parameters show in how strong structure is on each
  // scale, wherever it lies. The mean tells just that. Single places, of which a small network has
  // few at its end, tell mostly where structure happens to lie, and it takes very many universes to
  // learn to look past it.
  bool reads_means = false;
  int channels() const { return is_mlperf ? 4 : 1; }
  int outputs() const { return is_mlperf ? 4 : 3; }
};

// One convolution, and the pooling behind it.
struct Layer {
  int in = 1, out = 16, kernel = 3, stride = 1, padding = 0;
  bool has_pool = true;
  int side = 0;    // of what it gives, before pooling
  int pooled = 0;  // and after it
};
// The convolutions. Those of the paper shrink the volume; in one that is smaller than the paper's
// 128, the last ones have no room and are left out.
std::vector<Layer> layers(const NetworkShape& shape);
// Widths of the dense part: what it sees of the convolutions, two hidden layers, the parameters.
std::vector<int> dense_widths(const NetworkShape& shape);

std::int64_t parameter_count(const NetworkShape& shape);
// One volume, 2 per multiply and add: forward; and with both gradients (none for the input).
double forward_flops(const NetworkShape& shape);
double train_flops(const NetworkShape& shape);
// That convolutions and pooling give for one volume.
double output_values(const NetworkShape& shape);

class Network : public torch::nn::Module {
 public:
  // Xavier's weights from this seed; biases 0.1 (paper) or 0. `dtype` is what it computes in.
  Network(const NetworkShape& shape, std::uint64_t seed, torch::ScalarType dtype);

  // (N, channels, side, side, side) -> (N, outputs) in f32, in the units of the network.
  torch::Tensor forward(const torch::Tensor& volumes, std::uint64_t seed = 0);

  // The same as steps, for ranks in a row: every convolution, then every dense layer. Each takes
  // what the one before it gave; with `reads_means`, what lies between convolutions is one tensor
  // (N, values): the means so far, then the volume.
  int steps() const { return static_cast<int>(layers_.size() + dense_weights_.size()); }
  torch::Tensor forward_step(int step, const torch::Tensor& input, std::uint64_t seed = 0);
  double step_flops(int step) const;
  std::size_t step_buffers(int step) const;  // of the norm; parameters are two of each step

  // As TorchScript, which takes densities, prepared as the option `input` says, and gives physical
  // units: centre + scale * output.
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
