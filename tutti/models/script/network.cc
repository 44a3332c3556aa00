#include "tutti/models/script/network.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/script.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <filesystem>

#include "tutti/core/error.h"

namespace tutti::models::script {
namespace {

std::string plain_name(std::string name) {
  std::replace(name.begin(), name.end(), '.', '/');  // libtorch has no dots in names of parameters
  return name;
}

// The reason in an error message of libtorch. Messages of the interpreter end with it, after a traceback; others begin
// with it.
std::string reason_of(const std::exception& error) {
  const auto* known = dynamic_cast<const c10::Error*>(&error);
  std::string text = known ? known->what_without_backtrace() : error.what();
  constexpr std::string_view kMark = "RuntimeError: ";
  if (const std::size_t at = text.rfind(kMark); at != std::string::npos)
    text = text.substr(at + kMark.size());
  text = text.substr(0, text.find('\n'));
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
  return text;
}

torch::jit::Module load_script(const std::string& file) {
  // Optimisations after the first calls change the last bits, so a resumed run would differ.
  torch::jit::setGraphExecutorOptimize(false);
  try {
    return torch::jit::load(file, torch::kCPU);
  } catch (const std::exception& error) {
    const std::string reason = reason_of(error);
    const bool is_pickle = reason.find("constants.pkl") != std::string::npos;
    throw IoError("DDL-7-90",
                  fmt::format("The network is not a TorchScript file: {}. In Python: "
                              "torch.jit.script(network).save('file.pt').",
                              is_pickle ? "torch.save has written it (weights or a pickled network)"
                                        : reason));
  }
}

}  // namespace

ScriptNetwork::ScriptNetwork(const std::string& file) : script_(load_script(file)) {
  if (!script_.find_method("forward"))
    throw ConfigError(
        "DDL-9-68", "The network has no method `forward`. Define it in the module that is saved.");
  bool has_weights = false;
  for (const auto& item : script_.named_parameters()) {
    torch::Tensor value = item.value;
    if (value.is_floating_point()) value.set_data(value.detach().to(torch::kFloat32));
    register_parameter(plain_name(item.name), value, value.requires_grad());
    has_weights = has_weights || value.requires_grad();
  }
  if (!has_weights)
    throw ConfigError("DDL-9-68",
                      "The network has no parameters to train. Save the module before "
                      "torch.jit.freeze, with parameters that require gradients.");
  for (const auto& item : script_.named_buffers())
    register_buffer(plain_name(item.name), item.value);
}

void ScriptNetwork::train(bool on) {
  torch::nn::Module::train(on);
  script_.train(on);
}

torch::Tensor ScriptNetwork::forward(const torch::Tensor& input, const std::string& origin) {
  std::string reason;
  try {
    const torch::IValue output = script_.forward({input});
    if (output.isTensor()) return output.toTensor();
    reason = fmt::format("it returns {}, and one tensor is needed", output.type()->repr_str());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    reason = reason_of(error);
    if (reason.find("can't allocate memory") != std::string::npos) throw;
  }
  const auto parameters = named_parameters();
  throw ConfigError(
      "DDL-9-68",
      fmt::format(
          "The network fails on {}, a batch of shape ({}): {}. Its first parameter, {}, has "
          "shape ({}). Save inputs in the shape that the network takes, or change the "
          "network.",
          origin, fmt::join(input.sizes(), ", "), reason, parameters[0].key(),
          fmt::join(parameters[0].value().sizes(), ", ")));
}

torch::Tensor ScriptNetwork::probe(const torch::Tensor& input, const std::string& origin) {
  const torch::NoGradGuard no_gradients;
  std::vector<torch::Tensor> before;
  for (const torch::Tensor& buffer : buffers()) before.push_back(buffer.clone());
  const bool was_training = is_training();
  train(false);
  torch::Tensor output = forward(input, origin);
  train(was_training);
  const std::vector<torch::Tensor> after = buffers();
  for (std::size_t i = 0; i < before.size(); ++i) after[i].copy_(before[i]);
  return output;
}

}  // namespace tutti::models::script
