// The network of the user, a TorchScript module.
#pragma once

#include <torch/nn/module.h>
#include <torch/script.h>
#include <torch/types.h>

#include <iosfwd>
#include <string>

namespace tutti::models::script {

// Parameters and buffers of the script are registered here, so the trainer sees them; they stay the
// same tensors. Parameters become f32, which is what is trained.
class ScriptNetwork : public torch::nn::Module {
 public:
  // Throws ConfigError or IoError when the file is not a TorchScript module with parameters to
  // train and a method `forward`.
  explicit ScriptNetwork(const std::string& file);

  void train(bool on) override;
  // Throws ConfigError with the shape of the input, its origin and libtorch's reason when the
  // script fails, or does not return a tensor.
  torch::Tensor forward(const torch::Tensor& input, const std::string& origin = "inputs");
  // The output of forward in evaluation mode. The network is left as it was, buffers too.
  torch::Tensor probe(const torch::Tensor& input, const std::string& origin);
  void save(std::ostream& out) const { script_.save(out); }

 private:
  torch::jit::Module script_;
};

}  // namespace tutti::models::script
