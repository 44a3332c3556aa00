// Generator and discriminator of the 3D GAN for calorimeters (CERN openlab).
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tutti/models/science/gan3d/upsampled_conv.h"

namespace tutti::models::gan3d {

struct NetworkShape {
  int latent = 200;            // size of the latent vector
  int generator_filters = 64;  // of the generator's first convolution
  int filters = 32;            // of the discriminator's first convolution
  int kernel = 5;              // of the discriminator; odd
  double dropout = 0.2;
  double norm_momentum = 0.01;  // weight of a batch in the running statistics
  int stride = 1;               // of the discriminator's first convolution
  // Input of the discriminator per cell: (GeV / cell_unit)^cell_power.
  double cell_unit = 1, cell_power = 1;
  // Published: input noise times energy, output in GeV. Relative: input noise and energy, output in multiples of the
  // mean shower.
  bool is_relative = false;
  int generator_inputs() const { return is_relative ? latent + 2 : latent; }
};

// A volume is upsampled, zero-padded and convolved, then leaky ReLU, then batch norm.
struct Layer {
  int in = 1, out = 1;
  Size3 kernel{}, factor = {1, 1, 1}, before{}, after{};  // zero padding before and after
  Size3 size{};                                           // of the output
  std::int64_t stride = 1;
  bool has_bias = true, has_norm = false;
  double slope = 0.3;
};
inline constexpr double kNormEpsilon = 1e-3;   // as in Keras
inline constexpr int kSeedChannels = 8;        // of the volume that the generator starts from
inline constexpr Size3 kSeedSize = {7, 7, 8};  // and its size in cells
std::vector<Layer> generator_layers(const NetworkShape& shape);
std::vector<Layer> discriminator_layers(const NetworkShape& shape);

std::int64_t generator_parameters(const NetworkShape& shape);
std::int64_t discriminator_parameters(const NetworkShape& shape);
// Operations per shower, 2 per multiply-add, as the layers are written: forward pass of each network, and a whole step,
// with two updates of the discriminator and `generator_updates` of the generator.
double generator_flops(const NetworkShape& shape);
double discriminator_flops(const NetworkShape& shape);
double step_flops(const NetworkShape& shape, std::int64_t generator_updates = 2);
// Number of output values of the layers of both networks per shower.
double output_values(const NetworkShape& shape);

// Running statistics of batch norm in training: updated or unchanged.
enum class Norms { kFollow, kKeep };

// Weights of a list of layers, and their forward passes.
class VolumeStack : public torch::nn::Module {
 protected:
  // Biases are 0; weights are distributed uniformly within +-limit(layer).
  void add_layers(std::vector<Layer> layers, const NetworkShape& shape,
                  const torch::Generator& random, double (*limit)(const Layer&));
  torch::Tensor convolved(std::size_t i, const torch::Tensor& x, torch::ScalarType dtype) const;
  torch::Tensor normed(std::size_t i, const torch::Tensor& x, Norms norms) const;

  std::vector<Layer> layers_;
  double norm_momentum_ = 0;
  std::vector<torch::Tensor> weights_, biases_, scales_, shifts_, means_, variances_;
};

class Generator : public VolumeStack {
 public:
  Generator(const NetworkShape& shape, const torch::Generator& random);
  // Energies (N) in 100 GeV, noise (N, latent) -> (N, 25, 25, 25), GeV in each cell.
  torch::Tensor forward(const torch::Tensor& energies, const torch::Tensor& noise,
                        Norms norms = Norms::kFollow);
  // Base of a relative generator: (25, 25, 25), as a fraction of visible(energy). Saved with the weights.
  void set_mean_shower(const torch::Tensor& shares);
  // Writes TorchScript: forward(energies in GeV (N), noise (N, latent)) -> (N, 25, 25, 25).
  void export_script(std::ostream& out) const;

 private:
  const bool is_relative_;
  torch::Tensor dense_weight_, dense_bias_, mean_shower_;
};

struct DiscriminatorOutput {
  torch::Tensor logit;   // (N), above 0: real
  torch::Tensor energy;  // (N), of the electron in 100 GeV
};

class Discriminator : public VolumeStack {
 public:
  // `dtype` is the type of the convolutions.
  Discriminator(const NetworkShape& shape, const torch::Generator& random, torch::ScalarType dtype);
  // (N, 25, 25, 25) in GeV. `seed` is for dropout.
  DiscriminatorOutput forward(const torch::Tensor& cells, std::uint64_t seed,
                              Norms norms = Norms::kFollow);

 private:
  const double dropout_, cell_unit_, cell_power_;
  const torch::ScalarType dtype_;
  torch::Tensor heads_weight_, heads_bias_;  // real or generated, and the energy
};

// Both, with the parameters `generator.*` and `discriminator.*`.
class Gan : public torch::nn::Module {
 public:
  Gan(const NetworkShape& shape, std::uint64_t seed, torch::ScalarType dtype);
  std::shared_ptr<Generator> generator;
  std::shared_ptr<Discriminator> discriminator;
};

}  // namespace tutti::models::gan3d
