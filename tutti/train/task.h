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
  std::vector<torch::Tensor> more;  // further tensors of the case
};

// One of the layers of a network that can be partitioned into pipeline stages.
struct Layer {
  double flops = 1;         // of one sample
  std::size_t tensors = 0;  // number of parameters of the model that belong to it, in order
  std::size_t buffers = 0;  // number of buffers that belong to it, such as running means
  std::function<torch::Tensor(const torch::Tensor& input, std::uint64_t seed)> forward = {};
};

// One of the consecutive updates of a step.
struct Update {
  std::string name;    // of its loss
  std::string prefix;  // common prefix of the names of its parameters, which must be consecutive
  std::string old_name =
      {};  // deprecated name of its loss, also written to metrics.csv; empty: none
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
  // Called by the prefetching thread; must not use the model.
  virtual Batch load(std::span<const std::int64_t> indices) = 0;
  // A random batch of the right shape, to measure the speed of training.
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
  // Mean loss over the batch, with its autograd graph. `seed` differs between steps and ranks; it is for dropout.
  virtual torch::Tensor loss(const Batch& batch, std::uint64_t seed) = 0;
  // A GAN takes several updates per batch, each with its own loss and parameters. The other parameters are frozen
  // meanwhile.
  virtual std::vector<Update> updates() const { return {{"loss", ""}}; }
  virtual torch::Tensor update_loss(std::size_t, const Batch& batch, std::uint64_t seed) {
    return loss(batch, seed);
  }
  // For pipeline parallelism: the network as layers, each of which takes the output of the previous one; empty: it
  // cannot be split. layers_loss is the loss of the last output.
  virtual std::vector<Layer> layers() { return {}; }
  virtual torch::Tensor layers_loss(const torch::Tensor&, const Batch&) { return {}; }
  // Whether the network casts to bf16 by itself; otherwise libtorch's autocast does.
  virtual bool casts_itself() const { return false; }
  // Operations of training on one sample: forward, gradients of the data, gradients of the weights; a multiply-add
  // counts as 2.
  virtual double flops_per_sample() const = 0;
  // Memory of a forward and backward pass per sample in bytes, without weights and gradients, at the precision of the
  // computation; 0: unknown.
  virtual double bytes_per_sample() const { return 0; }
  // Writes the network with its weights, in f32, as TorchScript, for programs without Tutti.
  virtual void export_script(std::ostream& out) = 0;
};

// Metrics of a network on samples that it was not trained on, and its predictions.
class Metric {
 public:
  virtual ~Metric() = default;

  // Evaluates the current split. Collective; all ranks return the same. The first metric selects the best weights:
  // larger is better. Rank 0 writes plots into `folder` unless it is empty.
  virtual Metrics evaluate(comm::Communicator& communicator,
                           const std::filesystem::path& folder) = 0;
  // Called during `evaluate` with the samples evaluated by all ranks, and their total. May be set by the caller of
  // `evaluate`.
  std::function<void(std::int64_t done, std::int64_t all)> on_evaluated = {};
  // Human-readable summary of the metrics of the last evaluation.
  virtual std::string verdict(const Metrics& metrics) const = 0;
  // One row of numbers per sample of a data file; prediction_names has the column names. Called on one rank, after the
  // weights were loaded.
  virtual std::vector<std::string> prediction_names() const = 0;
  virtual std::vector<std::vector<float>> predict(const std::filesystem::path& file) = 0;
  // Writes the output of the network for the samples of a file as HDF5, if it is more than rows of numbers. Otherwise
  // returns false.
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
