#include "tutti/train/parameters.h"

#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

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
  for (torch::Tensor& tensor : tensors_) {  // the model may outlive this object
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

std::vector<std::byte> FlatParameters::buffers() const {
  std::vector<std::byte> all;
  for (const torch::Tensor& buffer : model_.buffers()) {
    const torch::Tensor values = buffer.detach().contiguous();
    const auto* bytes = static_cast<const std::byte*>(values.data_ptr());
    all.insert(all.end(), bytes, bytes + values.nbytes());
  }
  return all;
}

void FlatParameters::set_buffers(std::span<const std::byte> bytes) {
  const torch::NoGradGuard no_gradients;
  for (torch::Tensor& buffer : model_.buffers()) {
    torch::Tensor values = torch::empty(buffer.sizes(), buffer.scalar_type());
    std::copy_n(bytes.begin(), values.nbytes(), static_cast<std::byte*>(values.data_ptr()));
    buffer.copy_(values);
    bytes = bytes.subspan(values.nbytes());
  }
}

std::int64_t FlatParameters::buffer_values() const {
  std::int64_t count = 0;
  for (const torch::Tensor& buffer : model_.buffers()) count += buffer.numel();
  return count;
}

void FlatParameters::set_f32_buffers(std::span<const float> values) {
  const torch::NoGradGuard no_gradients;
  for (torch::Tensor& buffer : model_.buffers()) {
    const auto count = static_cast<std::size_t>(buffer.numel());
    buffer.copy_(
        torch::from_blob(const_cast<float*>(values.data()), buffer.sizes(), torch::kFloat32));
    values = values.subspan(count);
  }
}

std::vector<std::byte> FlatParameters::mean_of_buffers(std::span<const std::byte> all) const {
  std::size_t state = 0;
  for (const torch::Tensor& buffer : model_.buffers()) state += buffer.nbytes();
  std::vector<std::byte> mean(all.begin(), all.begin() + std::ptrdiff_t(state));
  const std::int64_t ranks = state == 0 ? 1 : std::int64_t(all.size() / state);
  std::size_t at = 0;
  for (const torch::Tensor& buffer : model_.buffers()) {
    const std::size_t bytes = buffer.nbytes();
    if (buffer.is_floating_point()) {
      torch::Tensor each = torch::empty({ranks, buffer.numel()}, buffer.scalar_type());
      auto* const to = static_cast<std::byte*>(each.data_ptr());
      for (std::size_t r = 0; r < std::size_t(ranks); ++r)
        std::copy_n(all.begin() + std::ptrdiff_t(r * state + at), bytes, to + r * bytes);
      const torch::Tensor values = (each.to(torch::kFloat64).sum(0) / double(ranks)).to(each);
      std::copy_n(static_cast<const std::byte*>(values.data_ptr()), bytes,
                  mean.begin() + std::ptrdiff_t(at));
    }
    at += bytes;
  }
  return mean;
}

}  // namespace tutti::train
