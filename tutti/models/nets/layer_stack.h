// Weights of a list of layers, and their forward passes.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tutti/kernels/conv2d/dense.h"
#include "tutti/models/nets/graph.h"
#include "tutti/train/task.h"

namespace tutti::models {

class LayerStack : public torch::nn::Module {
 public:
  // He-normal weights and zero biases from this seed. `dtype` is the type of the computation; weights and norms are
  // f32.
  LayerStack(std::vector<Layer> layers, std::uint64_t seed, torch::ScalarType dtype);

  const std::vector<Layer>& layers() const { return layers_; }
  // The layer of that name on (N, in, H, W), or on several inputs with that many channels in all: convolution, bias,
  // norm and optional ReLU. Throws std::out_of_range.
  torch::Tensor apply(const std::string& name, at::TensorList inputs, bool has_relu = false);
  // The layers of these names, convolutions with ReLU, as a dense block: each takes the inputs and the outputs of all
  // layers before it.
  kernels::DenseFeatures apply_dense(std::span<const std::string> names, at::TensorList inputs,
                                     bool wants_even) const;
  // A layer of kernel 1 and stride 2 on all features of such a block.
  torch::Tensor apply_halving(const std::string& name, const kernels::DenseFeatures& block,
                              bool has_relu);
  // The outputs of the nodes `wanted` of a graph with these layers, from the input of the network, or from the output
  // of the node `from` if that is a cut. Nodes that are not needed are not computed.
  std::vector<torch::Tensor> run(const Graph& graph, const torch::Tensor& input,
                                 std::span<const Graph::Id> wanted, Graph::Id from = Graph::kInput);
  // The output of the last node.
  torch::Tensor run(const Graph& graph, const torch::Tensor& input);
  // The graph as layers between its cuts, which can be pipeline stages. `graph` must outlive them.
  std::vector<train::Layer> parts(const Graph& graph);

  // Adds the buffers `input_mean` and `input_spread` (standard deviation), which are saved with the weights.
  void add_input_scale(int channels, float mean, float deviation);
  // Sets the mean and standard deviation of each channel, which `scaled` normalises with.
  void set_scale(std::span<const float> mean, std::span<const float> deviation);
  torch::Tensor scaled(const torch::Tensor& input) const { return (input - mean_) / deviation_; }
  void compute_in(torch::ScalarType dtype) { dtype_ = dtype; }
  torch::ScalarType dtype() const { return dtype_; }

 private:
  struct Parts {
    Layer layer;
    torch::Tensor weight, bias, scale, shift, mean, variance;
  };
  torch::Tensor convolved(const Parts& parts, at::TensorList inputs, bool has_relu) const;
  torch::Tensor output_of(const Graph::Node& node, at::TensorList inputs);

  std::vector<Layer> layers_;
  std::map<std::string, Parts> parts_;
  torch::ScalarType dtype_;
  torch::Tensor mean_, deviation_;  // of the input
};

// bf16 as f32; anything else unchanged.
torch::Tensor at_least_f32(const torch::Tensor& tensor);

// Averages the running statistics of norms over the ranks before weights are evaluated. Collective.
void average_buffers(torch::nn::Module& module, comm::Communicator& communicator);

// Writes `forward`, which uses the parameters and buffers of `network`, as TorchScript: its operations on `example` in
// f32 are traced. The batch size may vary; the image size may not.
void export_traced(LayerStack& network,
                   const std::function<torch::Tensor(const torch::Tensor&)>& forward,
                   const torch::Tensor& example, std::ostream& out);
// The same for any network, at its current precision.
void export_traced(const torch::nn::Module& network,
                   const std::function<torch::Tensor(const torch::Tensor&)>& forward,
                   const torch::Tensor& example, std::ostream& out);

}  // namespace tutti::models
