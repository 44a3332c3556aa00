// All weights of a model in one array, and all gradients in another array in shared memory. A bucket of gradients is
// thus a range that is reduced in place.
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
  // Moves the parameters of `model` into the array; the tensors stay the same. Four-dimensional ones get channels_last
  // if requested. The memory belongs to `communicator`, which must outlive this object.
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

  // Zeroes this buffer; the next backward pass accumulates its gradients there.
  void begin(int buffer = 0);

  // State of the model apart from its parameters (running means, counters), tensor after tensor, each in its own dtype.
  std::vector<std::byte> buffers() const;
  void set_buffers(std::span<const std::byte> bytes);
  // The same for checkpoints before version 3, which have every tensor as f32.
  std::int64_t buffer_values() const;
  void set_f32_buffers(std::span<const float> values);
  // Mean of the states of several ranks, concatenated in `all`, for floating-point tensors. Other tensors are those of
  // the first rank.
  std::vector<std::byte> mean_of_buffers(std::span<const std::byte> all) const;

 private:
  torch::nn::Module& model_;
  comm::Communicator& communicator_;
  std::vector<Segment> segments_;
  std::vector<torch::Tensor> tensors_;
  std::int64_t size_ = 0;
  float* weights_ = nullptr;
  std::vector<float*> gradients_;
  std::vector<std::vector<torch::Tensor>> views_;  // per gradient buffer
};

}  // namespace tutti::train
