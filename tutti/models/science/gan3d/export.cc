#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/script.h>
#include <torch/types.h>

#include "tutti/models/science/gan3d/model.h"
#include "tutti/models/science/gan3d/shower.h"

namespace tutti::models::gan3d {

// Layer by layer, with explicit upsampling: independent of the native kernels.
void Generator::export_script(std::ostream& out) const {
  torch::jit::Module script("gan3d");
  for (const auto& item : named_parameters())
    script.register_parameter(item.key(), item.value().detach().clone().contiguous(), false);
  for (const auto& item : named_buffers()) script.register_buffer(item.key(), item.value().clone());
  std::string code = fmt::format(
      "def forward(self, energies, noise):\n"
      "  y = (energies / 100).unsqueeze(1)\n"
      "  x = {}\n"
      "  x = torch.addmm(self.dense_bias, x, self.dense_weight.t())\n"
      "  x = torch.reshape(x, [-1, {}, {}])\n",
      is_relative_ ? "torch.cat([noise, y, torch.log(y)], 1)" : "noise * y", kSeedChannels,
      fmt::join(kSeedSize, ", "));
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& l = layers_[i];
    for (std::size_t a = 0; a < 3; ++a)
      if (l.factor[a] > 1)
        code += fmt::format("  x = torch.repeat_interleave(x, {}, {})\n", l.factor[a], a + 2);
    code += fmt::format(
        "  x = torch.constant_pad_nd(x, [{}, {}, {}, {}, {}, {}])\n"
        "  x = torch.leaky_relu(torch.conv3d(x, self.conv{}_weight, {}){}, {})\n",
        l.before[2], l.after[2], l.before[1], l.after[1], l.before[0], l.after[0], i + 1,
        l.has_bias ? fmt::format("self.conv{}_bias", i + 1) : "None",
        is_relative_ && i + 1 == layers_.size() ? " + 1" : "", l.slope);
    if (l.has_norm)
      code += fmt::format(
          "  x = torch.batch_norm(x, self.conv{0}_scale, self.conv{0}_shift, self.conv{0}_mean, "
          "self.conv{0}_variance, False, 0.0, {1}, False)\n",
          i + 1, kNormEpsilon);
  }
  code += "  x = x.squeeze(1)\n";
  if (is_relative_)
    code +=
        "  x = x * self.mean_shower * "
        "(y * (2.21 + y * (-0.28 + y * (0.11 + y * (-0.023 + y * 0.0018))))).reshape(-1, 1, 1, "
        "1)\n";
  code += fmt::format("  return torch.threshold(x, {}, 0)\n", kThreshold);
  script.define(code);
  script.save(out);
}

}  // namespace tutti::models::gan3d
