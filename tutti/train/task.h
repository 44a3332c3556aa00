// What a case gives to the trainer: a network, its data, its loss and what it is measured by.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/runs/training_log.h"

namespace tutti::train {

using runs::Metrics;

struct Batch {
  torch::Tensor input, target;
  std::vector<torch::Tensor> more;  // what else the case needs
};

// One of the layers of a network that can be dealt to several ranks.
struct Layer {
  double flops = 1;         // of one sample
  std::size_t tensors = 0;  // how many of the model's parameters, in their order, are its own
  std::size_t buffers = 0;  // and how many of what it keeps besides, running means
  std::function<torch::Tensor(const torch::Tensor& input, std::uint64_t seed)> forward = {};
};

// One of the updates that a step makes one after the other.
struct Update {
  std::string name;    // of its loss
  std::string prefix;  // it changes the parameters whose names begin so; they follow each other
};

class Task {
 public:
  virtual ~Task() = default;

  // The network, made with the seed of the options; the same weights on every rank.
  virtual torch::nn::Module& model() = 0;
  // Makes or finds the data. Collective; called once, before everything below.
  virtual void prepare(comm::Communicator& communicator) = 0;
  virtual std::int64_t train_samples() const = 0;
  // Called by the thread that reads ahead; must not touch the model.
  virtual Batch load(std::span<const std::int64_t> indices) = 0;
  // A batch of the right shape without any data, to measure the speed of training with.
  virtual Batch random_batch(std::int64_t count) = 0;
  // Mean over the batch, with its graph. `seed` is different at every step and rank: for dropout.
  virtual torch::Tensor loss(const Batch& batch, std::uint64_t seed) = 0;
  // Networks that are trained against each other take several updates from a batch, each with its
  // own loss and parameters; the other parameters stand still and take no gradient meanwhile.
  virtual std::vector<Update> updates() const { return {{"loss", ""}}; }
  virtual torch::Tensor update_loss(std::size_t, const Batch& batch, std::uint64_t seed) {
    return loss(batch, seed);
  }
  // On data that was not trained on. Collective; all ranks return the same. The first metric is the
  // one by which the best weights are kept: larger is better. With a folder, rank 0 writes plots.
  virtual Metrics evaluate(comm::Communicator& communicator,
                           const std::filesystem::path& folder) = 0;
  // Which samples `evaluate` looks at: those of the result or, where the data has them besides,
  // those by which the best weights are chosen.
  enum class Judged { kTest, kValidation };
  virtual bool has_validation() const { return false; }
  void look_at(Judged which) {
    if (has_validation() && which != std::exchange(judged_, which)) swap_validation();
  }
  // Whether the best weights are chosen by the samples that `evaluate` looks at now.
  bool is_choosing() const { return judged_ == Judged::kValidation || !has_validation(); }
  // Called by `evaluate` on the way with how many samples were judged, by all ranks, and will be.
  // Whoever evaluates may set it.
  std::function<void(std::int64_t done, std::int64_t all)> on_judged = {};
  // One row of numbers per sample of a data file; the names of the columns first. Called after the
  // weights were loaded, on one rank.
  virtual std::vector<std::string> prediction_names() const = 0;
  virtual std::vector<std::vector<float>> predict(const std::filesystem::path& file) = 0;
  // Writes as HDF5 what the network makes of the samples of a file, where it makes more than rows
  // of numbers; false: it does not.
  virtual bool predict_samples(const std::filesystem::path&, const std::filesystem::path&) {
    return false;
  }
  // Writes the network with its weights, in f32, as TorchScript, for programs that do without us.
  virtual void export_script(std::ostream& out) = 0;
  // Of one sample: forward, gradient of the data, gradient of the weights; 2 per multiply and add.
  virtual double flops_per_sample() const = 0;
  // Memory that a forward and backward pass take for each sample, besides weights and gradients, at
  // the precision it computes in; 0: not known.
  virtual double bytes_per_sample() const { return 0; }
  // What people want to read at the end, of the metrics of the last evaluation.
  virtual std::string verdict(const Metrics& metrics) const = 0;
  // For model parallelism: the network as layers, each of which takes what the one before it gave;
  // none: it cannot be split. layers_loss is the loss of what the last one gave.
  virtual std::vector<Layer> layers() { return {}; }
  virtual torch::Tensor layers_loss(const torch::Tensor&, const Batch&) { return {}; }
  // Whether the network casts to bf16 by itself; otherwise libtorch's autocast does.
  virtual bool casts_itself() const { return false; }

 protected:
  void tell_judged(std::int64_t done, std::int64_t all) const {
    if (on_judged) on_judged(done, all);
  }
  // `evaluate` looks at the other samples from now on.
  virtual void swap_validation() {}

 private:
  Judged judged_ = Judged::kTest;
};

}  // namespace tutti::train
