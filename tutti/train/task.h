// Interfaces of a case: its data set, its network with the loss, and its metric.
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

// One of the layers of a network that can be partitioned into pipeline stages.
struct Layer {
  double flops = 1;         // of one sample
  std::size_t tensors = 0;  // how many of the model's parameters, in their order, are its own
  std::size_t buffers = 0;  // and how many of its buffers, such as running means
  std::function<torch::Tensor(const torch::Tensor& input, std::uint64_t seed)> forward = {};
};

// One of the consecutive updates of a step.
struct Update {
  std::string name;    // of its loss
  std::string prefix;  // it changes the parameters whose names begin so; they follow each other
};

// The samples that `evaluate` uses: those of the result, or those that select the best weights.
enum class EvalSplit { kTest, kValidation };

// Training samples, and the choice between test and validation samples.
class DataSet {
 public:
  virtual ~DataSet() = default;

  // Generates or finds the data. Collective; called once, before everything below.
  virtual void prepare(comm::Communicator& communicator) = 0;
  virtual std::int64_t train_samples() const = 0;
  // Called by the thread that reads ahead; must not touch the model.
  virtual Batch load(std::span<const std::int64_t> indices) = 0;
  // A batch of the right shape without any data, to measure the speed of training with.
  virtual Batch random_batch(std::int64_t count) = 0;

  virtual bool has_validation() const { return false; }
  // Without a validation set, both splits are the test samples.
  void evaluate_on(EvalSplit split) {
    if (has_validation() && split != std::exchange(split_, split)) swap_validation();
  }
  // Whether the samples of the current split select the best weights.
  bool selects_weights() const { return split_ == EvalSplit::kValidation || !has_validation(); }

 protected:
  // Exchanges the test and the validation samples.
  virtual void swap_validation() {}

 private:
  EvalSplit split_ = EvalSplit::kTest;
};

// A network and its loss.
class TrainedNetwork {
 public:
  virtual ~TrainedNetwork() = default;

  // Initialised from the seed of the options: the same weights on every rank.
  virtual torch::nn::Module& model() = 0;
  // Mean over the batch, with its graph. `seed` is different at every step and rank: for dropout.
  virtual torch::Tensor loss(const Batch& batch, std::uint64_t seed) = 0;
  // Adversarial networks take several updates from a batch, each with its own loss and parameters;
  // the other parameters are constant and take no gradient meanwhile.
  virtual std::vector<Update> updates() const { return {{"loss", ""}}; }
  virtual torch::Tensor update_loss(std::size_t, const Batch& batch, std::uint64_t seed) {
    return loss(batch, seed);
  }
  // For pipeline parallelism: the network as layers, each of which takes the output of the one
  // before it; empty: it cannot be split. layers_loss is the loss of the last output.
  virtual std::vector<Layer> layers() { return {}; }
  virtual torch::Tensor layers_loss(const torch::Tensor&, const Batch&) { return {}; }
  // Whether the network casts to bf16 by itself; otherwise libtorch's autocast does.
  virtual bool casts_itself() const { return false; }
  // Of one sample: forward, gradient of the data, gradient of the weights; 2 per multiply and add.
  virtual double flops_per_sample() const = 0;
  // Memory of a forward and backward pass for each sample, without weights and gradients, at the
  // precision it computes in; 0: not known.
  virtual double bytes_per_sample() const { return 0; }
  // Writes the network with its weights, in f32, as TorchScript, for programs without Tutti.
  virtual void export_script(std::ostream& out) = 0;
};

// Metrics of a network on samples that it was not trained on, and its predictions.
class Metric {
 public:
  virtual ~Metric() = default;

  // Collective; all ranks return the same. The first metric selects the best weights: larger is
  // better. With a folder, rank 0 writes plots.
  virtual Metrics evaluate(comm::Communicator& communicator,
                           const std::filesystem::path& folder) = 0;
  // Called during `evaluate` with the samples evaluated by all ranks, and their total. May be set
  // by the caller of `evaluate`.
  std::function<void(std::int64_t done, std::int64_t all)> on_evaluated = {};
  // Human-readable summary of the metrics of the last evaluation.
  virtual std::string verdict(const Metrics& metrics) const = 0;
  // One row of numbers per sample of a data file; the names of the columns first. Called after the
  // weights were loaded, on one rank.
  virtual std::vector<std::string> prediction_names() const = 0;
  virtual std::vector<std::vector<float>> predict(const std::filesystem::path& file) = 0;
  // Writes the output of the network for the samples of a file as HDF5, where it is more than rows
  // of numbers; false: it is not.
  virtual bool predict_samples(const std::filesystem::path&, const std::filesystem::path&) {
    return false;
  }

 protected:
  void report_evaluated(std::int64_t done, std::int64_t all) const {
    if (on_evaluated) on_evaluated(done, all);
  }
};

class Task : public DataSet, public TrainedNetwork, public Metric {};

}  // namespace tutti::train
