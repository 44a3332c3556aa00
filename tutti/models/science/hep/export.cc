#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/script.h>
#include <torch/types.h>

#include "tutti/models/science/hep/model.h"

namespace tutti::models::hep {

void Network::export_script(std::ostream& out) const {
  torch::jit::Module script("hep");
  for (const auto& item : named_parameters())
    script.register_parameter(item.key(), item.value().detach().clone().contiguous(), false);
  std::string code = "def forward(self, x):\n  x = torch.log1p(torch.clamp(x, min=0)) / 5\n";
  for (int i = 1; i <= shape_.layers; ++i) {
    code += fmt::format(
        "  x = torch.relu(torch.conv2d(x, self.conv{0}_weight, self.conv{0}_bias, [1, 1], [1, "
        "1]))\n",
        i);
    if (i < shape_.layers) code += "  x = torch.max_pool2d(x, [2, 2])\n";
  }
  code +=
      "  x = torch.addmm(self.linear_bias, torch.mean(x, [2, 3]), self.linear_weight.t())\n"
      "  return torch.softmax(x, 1)\n";
  script.define(code);
  script.save(out);
}

}  // namespace tutti::models::hep
