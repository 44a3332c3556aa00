// All weights of a model in one array, and all gradients in another that the ranks of the host
// share, so that a bucket of gradients is a range and is reduced where it lies.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <span>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/train/optim/optimizer.h"

namespace tutti::train {

class FlatParameters {
 public:
  // Moves the parameters of `model` into the array; they stay the same tensors. Four-dimensional
  // ones get channels_last when asked. `communicator` gives the memory and must outlive this.
  FlatParameters(torch::nn::Module& model, comm::Communicator& communicator, bool channels_last,
                 int gradient_buffers = 1);
  ~FlatParameters();
  FlatParameters(const FlatParameters&) = delete;
  FlatParameters& operator=(const FlatParameters&) = delete;

  const std::vector<Segment>& segments() const { return segments_; }
  std::vector<torch::Tensor>& tensors() { return tensors_; }
  std::int64_t size() const { return size_; }
  std::span<float> weights() { return {weights_, static_cast<std::size_t>(size_)}; }
  std::span<float> gradients(int buffer = 0) {
    return {gradients_[static_cast<std::size_t>(buffer)], static_cast<std::size_t>(size_)};
  }

  // Gradients of the next backward pass are added up in this buffer, from zero.
  void begin(int buffer = 0);

  // State of the model besides its parameters (running means, counters), tensor after tensor, each
  // in its own dtype.
  std::vector<std::byte> buffers() const;
  void set_buffers(std::span<const std::byte> bytes);
  // The same from checkpoints before version 3, which have every tensor as f32.
  std::int64_t buffer_values() const;
  void set_f32_buffers(std::span<const float> values);
  // The mean of the states of several ranks, one after the other in `all`: of tensors of
  // floating-point numbers. The others are those of the first rank.
  std::vector<std::byte> mean_of_buffers(std::span<const std::byte> all) const;

 private:
  torch::nn::Module& model_;
  comm::Communicator& communicator_;
  std::vector<Segment> segments_;
  std::vector<torch::Tensor> tensors_;
  std::int64_t size_ = 0;
  float* weights_ = nullptr;
  std::vector<float*> gradients_;
  std::vector<std::vector<torch::Tensor>> views_;  // of each gradient buffer
};

}  // namespace tutti::train
