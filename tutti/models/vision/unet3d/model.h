// The 3-D U-Net of 3DUnetCNN, the network with which training beyond memory was shown.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "tutti/models/vision/unet3d/head.h"
#include "tutti/models/vision/unet3d/shape.h"

namespace tutti::models::unet3d {

// The network as steps: `depth` levels down, `depth` - 1 up, and the last convolution. What the way
// down leaves for the way up passes through the steps between.
class Network : public torch::nn::Module {
 public:
  // He-normal weights from this seed; biases 0, and -3 of the last convolution, so that training
  // starts from little tumour. `dtype` is what it computes in; weights are f32.
  Network(const NetworkShape& shape, std::uint64_t seed, torch::ScalarType dtype);

  // Images (N, 4, side, side, side) in any units, each of which is brought to mean 0 and spread 1
  // -> scores (N, 3, side, side, side) in f32, before the sigmoid, of the labels 1, 2 and 4.
  torch::Tensor forward(const torch::Tensor& images);

  int steps() const { return 2 * shape_.depth; }
  // One step. What the first takes and the last gives is that of forward(); between them all that
  // later steps need lies in one tensor (N, values), so that it can be sent.
  torch::Tensor forward_step(int step, const torch::Tensor& input);
  std::size_t step_tensors(int step) const;  // of the parameters
  double step_flops(int step) const;

  torch::ScalarType dtype() const { return dtype_; }
  void compute_in(torch::ScalarType dtype) { dtype_ = dtype; }

 private:
  struct Convolution {
    Layer layer;
    torch::Tensor weight, bias, scale, shift;
  };
  using Volumes = std::vector<torch::Tensor>;  // what waits for the way up; last, what is worked on

  void run(int step, Volumes& volumes) const;
  torch::Tensor convolved(const Convolution& convolution, const torch::Tensor& input) const;
  torch::Tensor doubled(const Convolution* convolution, const torch::Tensor& input) const;

  NetworkShape shape_;
  torch::ScalarType dtype_;
  std::vector<std::vector<Convolution>> convolutions_;  // of each step
};

// One minus the mean over samples and labels of 2 sum(t p) / (sum(t) + sum(p)), p the sigmoid of
// the scores and t 1 where the label is: the published loss, which is its negative, plus one.
// `labels` (N, side, side, side) are 0, 1, 2 and 4.
torch::Tensor dice_loss(const torch::Tensor& scores, const torch::Tensor& labels);
// Mean over the labels of the cross-entropy of "has it" and "has it not", a mean over all voxels in
// which those that have the label weigh sqrt(voxels / voxels that have it): a label that is rare
// weighs more than its share, and less than all the rest. The soft Dice coefficient of a label that
// is nowhere likely hardly has a gradient; this has.
torch::Tensor label_entropy(const torch::Tensor& scores, const torch::Tensor& labels);

// The label with the highest score, where it is more likely than not; else 0.
torch::Tensor labels_of(const torch::Tensor& scores);

}  // namespace tutti::models::unet3d
