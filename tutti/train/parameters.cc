#include "tutti/train/parameters.h"

#include <torch/torch.h>

#include <algorithm>

namespace tutti::train {
namespace {

std::vector<std::int64_t> strides_of(const torch::Tensor& tensor, bool channels_last) {
  const auto wanted = channels_last && tensor.dim() == 4 ? at::MemoryFormat::ChannelsLast
                                                         : at::MemoryFormat::Contiguous;
  return torch::empty(tensor.sizes(), tensor.options().memory_format(wanted)).strides().vec();
}

}  // namespace

FlatParameters::FlatParameters(torch::nn::Module& model, comm::Communicator& communicator,
                               bool channels_last, int gradient_buffers)
    : model_(model), communicator_(communicator) {
  for (const auto& item : model.named_parameters()) {
    if (!item.value().requires_grad()) continue;
    const std::int64_t count = item.value().numel();
    segments_.push_back({item.key(), size_, count, item.value().dim() > 1});
    tensors_.push_back(item.value());
    size_ += count;
  }
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(1, size_)) * sizeof(float);
  weights_ = static_cast<float*>(communicator_.allocate(bytes));
  for (int i = 0; i < gradient_buffers; ++i)
    gradients_.push_back(static_cast<float*>(communicator_.allocate(bytes)));
  views_.resize(gradients_.size());
  const torch::NoGradGuard no_gradients;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const auto strides = strides_of(tensors_[i], channels_last);
    torch::Tensor view = torch::from_blob(weights_ + segments_[i].begin, tensors_[i].sizes(),
                                          strides, torch::kFloat32);
    view.copy_(tensors_[i]);
    tensors_[i].set_data(view);
    for (std::size_t k = 0; k < gradients_.size(); ++k)
      views_[k].push_back(torch::from_blob(gradients_[k] + segments_[i].begin, tensors_[i].sizes(),
                                           strides, torch::kFloat32));
  }
  begin();
}

FlatParameters::~FlatParameters() {
  for (torch::Tensor& tensor : tensors_) {  // the model may live on without us
    tensor.mutable_grad() = torch::Tensor();
    tensor.set_data(tensor.detach().clone());
  }
  communicator_.free(weights_);
  for (float* gradients : gradients_) communicator_.free(gradients);
}

void FlatParameters::begin(int buffer) {
  const auto k = static_cast<std::size_t>(buffer);
  std::fill_n(gradients_[k], size_, 0.f);
  for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].mutable_grad() = views_[k][i];
}

std::vector<float> FlatParameters::buffers() const {
  std::vector<float> all;
  for (const torch::Tensor& buffer : model_.buffers()) {
    const torch::Tensor values = buffer.to(torch::kFloat32).contiguous();
    all.insert(all.end(), values.data_ptr<float>(), values.data_ptr<float>() + values.numel());
  }
  return all;
}

void FlatParameters::set_buffers(std::span<const float> values) {
  const torch::NoGradGuard no_gradients;
  std::size_t at = 0;
  for (torch::Tensor& buffer : model_.buffers()) {
    const auto count = static_cast<std::size_t>(buffer.numel());
    buffer.copy_(
        torch::from_blob(const_cast<float*>(values.data() + at), buffer.sizes(), torch::kFloat32));
    at += count;
  }
}

}  // namespace tutti::train
