// What the two networks are trained by.
#pragma once

#include <torch/types.h>

#include "tutti/models/science/gan3d/model.h"

namespace tutti::models::gan3d {

struct LossWeights {
  double adversarial = 6, energy = 0.2, sum = 0.1;
  double profiles = 0;   // of profile_distance; the published training has none
  double responses = 0;  // of response_distance; the published training has none
};

// Energies are in 100 GeV.
struct Electrons {
  torch::Tensor energies;  // (N)
  torch::Tensor noise;     // (N, latent), normal; none for true showers
};
// Even from 10 to 500 GeV, as the published training has them.
Electrons draw_electrons(std::int64_t count, std::int64_t latent, std::uint64_t seed);

// 100 mean |predicted - truth| / truth.
torch::Tensor relative_error(const torch::Tensor& predicted, const torch::Tensor& truth);

// Of the discriminator, told by `labels` (1: true) what it sees. The sum of the cells, its third
// output, has nothing to learn.
torch::Tensor discriminator_loss(const DiscriminatorOutput& output, const torch::Tensor& labels,
                                 const torch::Tensor& energies, const LossWeights& weights);
// Of the generator, whose showers should be judged true, of the right energy and of the right sum.
torch::Tensor generator_loss(const DiscriminatorOutput& output, const torch::Tensor& cells,
                             const torch::Tensor& energies, const LossWeights& weights);

// How far the profiles of made showers are from those of true ones, as distributions: the energy
// distance 2 <|m - t|> - <|m - m'|> - <|t - t'|>, means over pairs of showers of the batch, which
// is 0 on average just when both are distributed alike. A shower is here the roots of its shares in
// the slices along x, y and z, with the logarithm of its electron's energy, so that profiles must
// be right for their energy.
torch::Tensor profile_distance(const torch::Tensor& generated,
                               const torch::Tensor& generated_energies, const torch::Tensor& real,
                               const torch::Tensor& real_energies);
// The same of sums of cells over what is visible of the energy.
torch::Tensor response_distance(const torch::Tensor& generated,
                                const torch::Tensor& generated_energies, const torch::Tensor& real,
                                const torch::Tensor& real_energies);

}  // namespace tutti::models::gan3d
