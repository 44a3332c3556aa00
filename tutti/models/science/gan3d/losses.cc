#include "tutti/models/science/gan3d/losses.h"

#include <torch/types.h>

#include "tutti/models/science/gan3d/shower.h"

namespace tutti::models::gan3d {
namespace {

constexpr double kLeastShare = 1e-3;  // smaller slices count as empty
constexpr double kEnergyMeasure =
    0.3;  // weight of the logarithm of the energy relative to the others
constexpr double kResponseMeasure =
    10;  // weight of sum / visible energy, which varies by a few per cent

torch::Tensor with_energies(const torch::Tensor& rows, const torch::Tensor& energies) {
  return torch::cat({rows, kEnergyMeasure * energies.log().unsqueeze(1)}, 1);
}

torch::Tensor profiles_of(const torch::Tensor& cells, const torch::Tensor& energies) {
  const torch::Tensor slices =
      torch::cat({cells.sum({2, 3}), cells.sum({1, 3}), cells.sum({1, 2})}, 1);
  const torch::Tensor shares = slices / visible(energies).unsqueeze(1);
  return with_energies((shares + kLeastShare).sqrt(), energies);
}

torch::Tensor responses_of(const torch::Tensor& cells, const torch::Tensor& energies) {
  const torch::Tensor responses = cells.sum({1, 2, 3}) / visible(energies);
  return with_energies(kResponseMeasure * responses.unsqueeze(1), energies);
}

// Distances of every row of `a` to every row of `b`. The gradient is finite for equal rows.
torch::Tensor distances(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a.unsqueeze(1) - b.unsqueeze(0)).square().sum(2) + 1e-6).sqrt();
}

// Mean over pairs of different rows.
torch::Tensor mean_distance(const torch::Tensor& rows) {
  const std::int64_t count = rows.size(0);
  return torch::triu(distances(rows, rows), 1).sum() *
         (2.0 / double(std::max<std::int64_t>(1, count * (count - 1))));
}

torch::Tensor energy_distance(const torch::Tensor& generated, const torch::Tensor& real) {
  return 2 * distances(generated, real).mean() - mean_distance(generated) - mean_distance(real);
}

}  // namespace

Electrons draw_electrons(std::int64_t count, std::int64_t latent, std::uint64_t seed) {
  const torch::Generator random = at::detail::createCPUGenerator(seed);
  const torch::Tensor energies = torch::rand({count}, random) * 4.9 + 0.1;
  return {energies, torch::randn({count, latent}, random)};
}

torch::Tensor relative_error(const torch::Tensor& predicted, const torch::Tensor& truth) {
  return 100 * ((predicted - truth).abs() / truth.abs().clamp_min(1e-7)).mean();
}

torch::Tensor discriminator_loss(const DiscriminatorOutput& output, const torch::Tensor& labels,
                                 const torch::Tensor& energies, const LossWeights& weights) {
  return weights.adversarial * torch::binary_cross_entropy_with_logits(output.logit, labels) +
         weights.energy * relative_error(output.energy, energies);
}

torch::Tensor generator_loss(const DiscriminatorOutput& output, const torch::Tensor& cells,
                             const torch::Tensor& energies, const LossWeights& weights) {
  return discriminator_loss(output, torch::ones_like(energies), energies, weights) +
         weights.sum * relative_error(cells.sum({1, 2, 3}), visible(energies));
}

torch::Tensor profile_distance(const torch::Tensor& generated,
                               const torch::Tensor& generated_energies, const torch::Tensor& real,
                               const torch::Tensor& real_energies) {
  return energy_distance(profiles_of(generated, generated_energies),
                         profiles_of(real, real_energies));
}

torch::Tensor response_distance(const torch::Tensor& generated,
                                const torch::Tensor& generated_energies, const torch::Tensor& real,
                                const torch::Tensor& real_energies) {
  return energy_distance(responses_of(generated, generated_energies),
                         responses_of(real, real_energies));
}

}  // namespace tutti::models::gan3d
