#include <torch/autograd.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "tutti/models/nets/layer_stack.h"

namespace tutti::models {

using Forward = std::function<torch::Tensor(const torch::Tensor&)>;

void export_traced(LayerStack& network, const Forward& forward, const torch::Tensor& example,
                   std::ostream& out) {
  const torch::ScalarType before = network.dtype();
  network.compute_in(torch::kFloat32);
  export_traced(static_cast<const torch::nn::Module&>(network), forward, example, out);
  network.compute_in(before);
}

void export_traced(const torch::nn::Module& network, const Forward& forward,
                   const torch::Tensor& example, std::ostream& out) {
  const torch::NoGradGuard no_gradients;
  torch::jit::Module script("network");
  // The same tensors, so that the tracer recognises them.
  for (const auto& item : network.named_parameters())
    script.register_parameter(item.key(), item.value(), false);
  for (const auto& item : network.named_buffers()) script.register_buffer(item.key(), item.value());
  const auto recorded = torch::jit::tracer::trace(
      {example},
      [&](torch::jit::Stack inputs) -> torch::jit::Stack {
        return {forward(inputs[0].toTensor())};
      },
      [](const torch::autograd::Variable&) { return std::string(); }, true, false, &script);
  const c10::QualifiedName name(*script.type()->name(), "forward");
  script.type()->addMethod(
      script._ivalue()->compilation_unit()->create_function(name, recorded.first->graph));
  script.save(out);
}

}  // namespace tutti::models
