// A small task and runs of it on threads, for the tests of the training loop.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tutti/comm/transport/thread/thread_world.h"
#include "tutti/train/collective_guard.h"
#include "tutti/train/run/checkpoint_file.h"
#include "tutti/train/run/options.h"
#include "tutti/train/trainer.h"

namespace tutti::train {

namespace fs = std::filesystem;

// Regression of a plane.
class ToyTask : public Task {
 public:
  explicit ToyTask(std::int64_t bad_step = -1, std::vector<Update> updates = {{"loss", ""}})
      : updates_(std::move(updates)), bad_step_(bad_step) {
    const torch::NoGradGuard no_gradients;
    model_->register_parameter("matrix", torch::full({2, 2}, 0.3));
    model_->register_parameter("weight", torch::linspace(0.1, 0.4, 4));
    model_->register_parameter("unused", torch::zeros({3}));
    model_->register_buffer("mean", torch::zeros({1}));  // of the samples of this rank
  }
  torch::nn::Module& model() override { return *model_; }
  void prepare(comm::Communicator&) override {}
  std::int64_t train_samples() const override { return 96; }
  Batch load(std::span<const std::int64_t> indices) override {
    torch::Tensor input = torch::empty({static_cast<std::int64_t>(indices.size()), 4});
    for (std::size_t i = 0; i < indices.size(); ++i)
      for (int k = 0; k < 4; ++k)
        input[static_cast<std::int64_t>(i)][k] = std::sin(double(indices[i] + 1) * (k + 1.3));
    const torch::Tensor numbers =
        torch::tensor(std::vector<std::int64_t>(indices.begin(), indices.end()));
    return {input, input.matmul(torch::tensor({1.f, -2.f, 0.5f, 3.f})), {numbers}};
  }
  Batch random_batch(std::int64_t count) override {
    return {torch::randn({count, 4}), torch::randn({count}), {}};
  }
  torch::Tensor loss(const Batch& batch, std::uint64_t) override {
    if (model_->is_training()) {
      torch::Tensor mean = model_->named_buffers()["mean"];
      mean.mul_(0.9).add_(0.1 * batch.input.mean());
      if (on_samples) on_samples(batch.more.at(0));
    }
    torch::Tensor loss = layers_loss(weighted(mixed(batch.input)), batch);
    if (!is_bad()) return loss;
    if (!has_bad_gradient) return loss * std::numeric_limits<float>::quiet_NaN();
    return loss + nothing();
  }
  std::vector<Update> updates() const override { return updates_; }
  torch::Tensor update_loss(std::size_t update, const Batch& batch, std::uint64_t seed) override {
    return loss(batch, seed) * (1 + 0.5 * double(update));
  }
  Metrics evaluate(comm::Communicator&, const fs::path&) override {
    std::vector<std::int64_t> all(32);
    std::iota(all.begin(), all.end(), 0);
    evaluated += is_validating_ ? 'v' : 't';
    const double score = -loss(load(all), 0).item<double>();
    if (is_validating_ && validation_is_nan) return {{"score", std::nan("")}};
    return {{"score", is_validating_
                          ? -score
                          : score}};  // on the validation set the first weights are the best
  }
  bool has_validation() const override { return validates; }
  bool validates = false, validation_is_nan = false;
  std::string evaluated;  // the splits that were evaluated

  std::vector<Layer> layers() override {
    return {{2, 1, 1,
             [this](const torch::Tensor& x, std::uint64_t) {
               if (!has_bad_layer || !is_bad()) return mixed(x);
               return mixed(x) + nothing();
             }},
            {1, 2, 0, [this](const torch::Tensor& x, std::uint64_t) { return weighted(x); }}};
  }
  torch::Tensor layers_loss(const torch::Tensor& output, const Batch& batch) override {
    return (output - batch.target).square().mean();
  }
  std::vector<std::string> prediction_names() const override { return {}; }
  std::vector<std::vector<float>> predict(const fs::path&) override { return {}; }
  void export_script(std::ostream&) override {}
  double flops_per_sample() const override { return 30; }
  std::string verdict(const Metrics&) const override { return ""; }
  bool casts_itself() const override { return true; }
  std::function<void(const torch::Tensor& indices)> on_samples;  // of each batch trained on
  bool has_bad_gradient = false;                                 // the bad step has a finite loss
  float bad_gradient = 0;                                        // of `matrix`; 0: infinite
  bool stays_bad = false;                                        // and so have all after it
  bool has_bad_layer = false;                                    // in model parallel training

 private:
  // A zero whose gradient with respect to `matrix` is infinite, as that of the root at 0, or `bad_gradient`.
  torch::Tensor nothing() {
    const torch::Tensor matrix = model_->named_parameters()["matrix"];
    if (bad_gradient == 0) return (matrix * 0).sqrt().sum();
    return ((matrix - matrix.detach()) * bad_gradient).sum();
  }
  torch::Tensor mixed(const torch::Tensor& x) {
    const torch::Tensor matrix = model_->named_parameters()["matrix"];
    return torch::cat({x.narrow(1, 0, 2).matmul(matrix), x.narrow(1, 2, 2)}, 1);
  }
  torch::Tensor weighted(const torch::Tensor& x) {
    return x.matmul(model_->named_parameters()["weight"]);
  }
  void swap_validation() override { is_validating_ = !is_validating_; }
  bool is_bad() {
    const std::int64_t call = calls_++;
    return bad_step_ >= 0 && (call == bad_step_ || (stays_bad && call > bad_step_));
  }

  std::shared_ptr<torch::nn::Module> model_ = std::make_shared<torch::nn::Module>("toy");
  std::vector<Update> updates_;
  std::int64_t bad_step_, calls_ = 0;
  bool is_validating_ = false;
};

class TrainerTest : public testing::Test {
 protected:
  TrainerTest() {
    std::string form = fs::temp_directory_path() / "trainer-XXXXXX";
    base_ = mkdtemp(form.data());
  }
  ~TrainerTest() override { fs::remove_all(base_); }

  using Settings = std::vector<std::pair<std::string, std::string>>;
  struct Result {
    double score = 0;
    std::vector<float> weights;
  };

  // Trains on threads and returns the result of rank 0, with the weights of the last checkpoint.
  Result run(int ranks, const std::string& name, const Settings& settings, bool resumes = false,
             std::int64_t bad_step = -1) {
    Options options(train_options());
    for (const auto& [key, value] : Settings{{"batch", "8"},
                                             {"learning_rate", "0.05"},
                                             {"optimizer", "sgd"},
                                             {"checkpoint_seconds", "0"},
                                             {"precision", "f32"}})
      options.set(key, value);
    for (const auto& [key, value] : settings) options.set(key, value);
    fs::create_directories(base_ / name);
    const TrainJob job{"toy", options, base_ / name, resumes};
    Result result;
    comm::ThreadWorld world(ranks);
    world.run([&](comm::Transport& transport) {
      const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
      const bool is_bad = all_are_bad_ || transport.rank() == bad_rank_.value_or(ranks - 1);
      ToyTask task(is_bad ? bad_step : -1, updates_);
      task.bad_gradient = bad_gradient_;
      task.has_bad_gradient = has_bad_gradient_;
      task.stays_bad = stays_bad_;
      task.validates = validates_;
      task.validation_is_nan = validation_is_nan_;
      task.has_bad_layer = bad_rank_ == transport.rank() && stages_are_bad_;
      task.on_samples = [&](const torch::Tensor& indices) {
        const std::lock_guard lock(mutex_);
        const auto* first = indices.data_ptr<std::int64_t>();
        samples_.insert(samples_.end(), first, first + indices.numel());
      };
      try {
        const TrainOutcome outcome = train(task, *communicator, job);
        if (communicator->rank() == 0) {
          result.score = outcome.metrics.at(0).second;
          evaluated_ = task.evaluated;
          is_best_ = outcome.is_best;
        }
      } catch (const ReportedByAnotherRank&) {
        EXPECT_NE(communicator->rank(), 0);  // rank 0 reports errors of all ranks
      }
    });
    const Checkpoint checkpoint = newest(name);
    result.weights.resize(checkpoint.arrays.at("weights").size() / sizeof(float));
    checkpoint.get("weights", std::as_writable_bytes(std::span(result.weights)));
    return result;
  }
  Checkpoint newest(const std::string& name) const {
    return *CheckpointFolder(base_ / name / "checkpoints", 1).newest();
  }
  static std::vector<float> floats(const Checkpoint& checkpoint, const std::string& name) {
    std::vector<float> values(checkpoint.arrays.at(name).size() / sizeof(float));
    checkpoint.get(name, std::as_writable_bytes(std::span(values)));
    return values;
  }
  std::string events(const std::string& name, int rank) const {
    std::ifstream file(base_ / name / ("events-rank" + std::to_string(rank) + ".jsonl"));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path base_;
  std::vector<Update> updates_ = {{"loss", ""}};
  bool has_bad_gradient_ = false, stays_bad_ = false, stages_are_bad_ = false;
  bool all_are_bad_ = false;
  float bad_gradient_ = 0;
  bool validates_ = false, validation_is_nan_ = false;
  bool is_best_ = false;   // of the outcome
  std::string evaluated_;  // 'v' for each evaluation on the validation set, 't' on the test set
  std::optional<int> bad_rank_;  // the last unless set
  std::mutex mutex_;
  std::vector<std::int64_t> samples_;  // that were trained on
};

}  // namespace tutti::train
