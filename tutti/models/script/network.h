// The user's model, a TorchScript module.
#pragma once

#include <torch/nn/module.h>
#include <torch/script.h>
#include <torch/types.h>

#include <iosfwd>
#include <string>

namespace tutti::models::script {

// Parameters and buffers of the script are registered here, so that the trainer finds them; they stay the same tensors.
// Parameters are converted to f32 for training.
class ScriptNetwork : public torch::nn::Module {
 public:
  // Throws ConfigError or IoError if the file is not a TorchScript module with trainable parameters and a method
  // `forward`.
  explicit ScriptNetwork(const std::string& file);

  void train(bool on) override;
  // Throws ConfigError with the shape of the input, its origin and libtorch's message if the script fails or does not
  // return a tensor.
  torch::Tensor forward(const torch::Tensor& input, const std::string& origin = "inputs");
  // The output of forward in evaluation mode. The network, including its buffers, is unchanged.
  torch::Tensor probe(const torch::Tensor& input, const std::string& origin);
  void save(std::ostream& out) const { script_.save(out); }

 private:
  torch::jit::Module script_;
};

}  // namespace tutti::models::script
