#include "tutti/models/science/gan3d/losses.h"

#include <torch/torch.h>

#include "tutti/models/science/gan3d/shower.h"

namespace tutti::models::gan3d {

Electrons draw_electrons(std::int64_t count, std::int64_t latent, std::uint64_t seed) {
  const torch::Generator random = at::detail::createCPUGenerator(seed);
  const torch::Tensor energies = torch::rand({count}, random) * 4.9 + 0.1;
  return {energies, torch::randn({count, latent}, random)};
}

torch::Tensor relative_error(const torch::Tensor& predicted, const torch::Tensor& truth) {
  return 100 * ((predicted - truth).abs() / truth.abs().clamp_min(1e-7)).mean();
}

torch::Tensor discriminator_loss(const Judgement& judgement, const torch::Tensor& labels,
                                 const torch::Tensor& energies, const LossWeights& weights) {
  return weights.judged * torch::binary_cross_entropy_with_logits(judgement.logit, labels) +
         weights.energy * relative_error(judgement.energy, energies);
}

torch::Tensor generator_loss(const Judgement& judgement, const torch::Tensor& cells,
                             const torch::Tensor& energies, const LossWeights& weights) {
  return discriminator_loss(judgement, torch::ones_like(energies), energies, weights) +
         weights.sum * relative_error(cells.sum({1, 2, 3}), visible(energies));
}

}  // namespace tutti::models::gan3d
