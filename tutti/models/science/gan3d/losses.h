// Losses of the generator and the discriminator.
#pragma once

#include <torch/types.h>

#include "tutti/models/science/gan3d/model.h"

namespace tutti::models::gan3d {

struct LossWeights {
  double adversarial = 6, energy = 0.2, sum = 0.1;
  double profiles = 0;   // weight of profile_distance; 0 in the published training
  double responses = 0;  // weight of response_distance; 0 in the published training
};

// Energies are in 100 GeV.
struct Electrons {
  torch::Tensor energies;  // (N)
  torch::Tensor noise;     // (N, latent), normal; undefined for real showers
};
// Energies distributed uniformly from 10 to 500 GeV, as in the published training.
Electrons draw_electrons(std::int64_t count, std::int64_t latent, std::uint64_t seed);

// 100 mean |predicted - truth| / truth.
torch::Tensor relative_error(const torch::Tensor& predicted, const torch::Tensor& truth);

// Loss of the discriminator. `labels`: 1 for real showers. The published third output, the sum of the cells, has no
// parameters to train.
torch::Tensor discriminator_loss(const DiscriminatorOutput& output, const torch::Tensor& labels,
                                 const torch::Tensor& energies, const LossWeights& weights);
// Loss of the generator: its showers should be classified as real, with the right energy and the right sum.
torch::Tensor generator_loss(const DiscriminatorOutput& output, const torch::Tensor& cells,
                             const torch::Tensor& energies, const LossWeights& weights);

// Energy distance 2 <|m - t|> - <|m - m'|> - <|t - t'|> between the distributions of the profiles of generated and real
// showers, with means over pairs of showers of the batch. Its expectation is 0 only if both distributions are equal. A
// shower is represented by the square roots of its energy fractions in the slices along x, y and z, and the logarithm
// of its electron's energy, so profiles must match at their energy.
torch::Tensor profile_distance(const torch::Tensor& generated,
                               const torch::Tensor& generated_energies, const torch::Tensor& real,
                               const torch::Tensor& real_energies);
// The same for the sum of the cells over the visible energy.
torch::Tensor response_distance(const torch::Tensor& generated,
                                const torch::Tensor& generated_energies, const torch::Tensor& real,
                                const torch::Tensor& real_energies);

}  // namespace tutti::models::gan3d
