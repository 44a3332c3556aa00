// The 3-D U-Net of 3DUnetCNN, a common example of training with large model support.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "tutti/models/vision/unet3d/head.h"
#include "tutti/models/vision/unet3d/shape.h"

namespace tutti::models::unet3d {

// The network as steps: `depth` levels down, `depth` - 1 up, and the last convolution. Skip connections pass through
// the steps between.
class Network : public torch::nn::Module {
 public:
  // He-normal weights from this seed; biases 0, and -3 in the last convolution, so the untrained network predicts
  // almost no tumour. `dtype` is the type of the computation; weights are f32.
  Network(const NetworkShape& shape, std::uint64_t seed, torch::ScalarType dtype);

  // Images (N, 4, side, side, side) in any units -> logits (N, 3, side, side, side) in f32, for the labels 1, 2 and 4.
  // Each image is first normalised to mean 0 and unit variance.
  torch::Tensor forward(const torch::Tensor& images);

  int steps() const { return 2 * shape_.depth; }
  // Runs one step. The input of the first step and the output of the last one are those of forward(). Between steps,
  // one tensor (N, values) contains everything that later steps need, so a pipeline can send it.
  torch::Tensor forward_step(int step, const torch::Tensor& input);
  std::size_t step_tensors(int step) const;  // of the parameters
  double step_flops(int step) const;

  torch::ScalarType dtype() const { return dtype_; }
  void compute_in(torch::ScalarType dtype) { dtype_ = dtype; }
  // Upsamples with the operators of libtorch, which large model support can run in tiles. Results differ only by
  // rounding.
  void use_library_operators() { uses_library_operators_ = true; }

 private:
  struct Convolution {
    Layer layer;
    torch::Tensor weight, bias, scale, shift;
  };
  using Volumes = std::vector<torch::Tensor>;  // skip connections; last, the current volume

  void run(int step, Volumes& volumes) const;
  torch::Tensor convolved(const Convolution& convolution, const torch::Tensor& input) const;
  torch::Tensor doubled(const Convolution* convolution, const torch::Tensor& input) const;
  torch::Tensor doubled_by_library(const Convolution* convolution,
                                   const torch::Tensor& input) const;

  NetworkShape shape_;
  torch::ScalarType dtype_;
  bool uses_library_operators_ = false;
  std::vector<std::vector<Convolution>> convolutions_;  // of each step
};

// One minus the mean over samples and labels of 2 sum(t p) / (sum(t) + sum(p)), with p the sigmoid of the scores and t
// 1 in voxels of the label: the published loss plus one. `labels` (N, side, side, side) are 0, 1, 2 and 4.
torch::Tensor dice_loss(const torch::Tensor& scores, const torch::Tensor& labels);
// Binary cross-entropy of each label, averaged over the labels. Voxels with the label have the weight sqrt(voxels /
// voxels with it), so a rare label contributes more than its fraction of the voxels. If a label is predicted as
// unlikely everywhere, the soft Dice coefficient has almost no gradient, but this loss has one.
torch::Tensor label_entropy(const torch::Tensor& scores, const torch::Tensor& labels);

// The label with the highest score if it is more likely than not; otherwise 0.
torch::Tensor labels_of(const torch::Tensor& scores);

}  // namespace tutti::models::unet3d
