#include "tutti/models/science/cosmoflow/task.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include "tutti/core/random.h"
#include "tutti/models/nets/layer_stack.h"
#include "tutti/models/nets/task_parts.h"
#include "tutti/models/ops/volume.h"
#include "tutti/models/science/cosmoflow/generate.h"
#include "tutti/models/science/cosmoflow/metric.h"
#include "tutti/models/science/cosmoflow/model.h"
#include "tutti/models/science/cosmoflow/volumes.h"
#include "tutti/runs/training_log.h"
#include "tutti/train/engine.h"

namespace tutti::models::cosmoflow {
namespace {

namespace fs = std::filesystem;
using comm::Communicator;

std::string name_of(const DataPlan& plan) {
  return fmt::format("cosmoflow-{}-{}-{}-{}-{}-{}-{}", plan.variant, plan.universe.cells, plan.cuts,
                     plan.universe.particles, plan.universe.box, plan.train_universes,
                     plan.test_universes);
}

// Of the paper's network, and of MLPerf's, whose pooling wants f32 (measured in bf16 only).
constexpr ValueBytes kPaperBytes{.f32 = 4, .bf16 = 5.2}, kMlperfBytes{.f32 = 16, .bf16 = 16};

class CosmoflowTask : public train::Task {
 public:
  explicit CosmoflowTask(const Options& options)
      : options_(options),
        variant_(options.text("variant")),
        parameters_(parameters(variant_)),
        dtype_(train::compute_type(options)) {
    shape_.is_mlperf = variant_ == "mlperf";
    shape_.volume = static_cast<int>(options.integer("volume"));
    shape_.filters = static_cast<int>(options.integer("filters"));
    shape_.dropout = options.number("dropout");
    shape_.has_norm = options.flag("batch_norm");
    shape_.reads_means = options.text("readout") == "means";
    network_ = std::make_shared<Network>(
        shape_, static_cast<std::uint64_t>(options.integer("seed")), dtype_);
  }

  torch::nn::Module& model() override { return *network_; }
  bool casts_itself() const override { return true; }
  double flops_per_sample() const override { return train_flops(shape_); }
  double bytes_per_sample() const override {
    return (shape_.is_mlperf ? kMlperfBytes : kPaperBytes).at(dtype_) * output_values(shape_);
  }

  void prepare(Communicator& communicator) override {
    fs::path folder = options_.text("data");
    std::string val = "val";
    if (folder.empty()) {
      DataPlan plan = data_plan(options_);
      if (options_.number("hold_out") > 0) plan.val_universes = 0;  // they are judged instead
      val = train::val_prefix(plan.val_universes);
      folder = make_data(
          name_of(plan), "universes", communicator,
          [&](const fs::path& target, int rank, int ranks, const auto& progress) {
            generate(target, plan, rank, ranks, progress);
          },
          plan.bytes_to_make());
    }
    keep_.emplace(keep_bytes(options_, communicator));
    train_ = files_of(folder, "train");
    train_samples_ = trained_on(train_->size());
    // Held-out universes are opened once more: a thread reads ahead in those trained on.
    first_judged_ = train_samples_ < train_->size() ? train_samples_ : 0;
    judged_ = files_of(folder, first_judged_ > 0 ? "train" : "test");
    if (first_judged_ == 0 && has_validation_files(folder, val))
      validation_ = files_of(folder, val);
  }

  bool has_validation() const override { return validation_ != nullptr; }
  std::int64_t train_samples() const override { return train_samples_; }

  train::Batch load(std::span<const std::int64_t> indices) override {
    return batch_of(*train_, indices);
  }

  train::Batch random_batch(std::int64_t count) override {
    const std::int64_t side = shape_.volume;
    return {torch::rand({count, shape_.channels(), side, side, side}),
            torch::rand({count, shape_.outputs()}),
            {}};
  }

  torch::Tensor loss(const train::Batch& batch, std::uint64_t seed) override {
    return layers_loss(network_->forward(augmented(batch.input, seed), seed), batch);
  }

  std::vector<train::Layer> layers() override {
    std::vector<train::Layer> all;
    for (int step = 0; step < network_->steps(); ++step)
      all.push_back({.flops = network_->step_flops(step),
                     .tensors = 2,
                     .buffers = network_->step_buffers(step),
                     .forward = [this, step](const torch::Tensor& input, std::uint64_t seed) {
                       return network_->forward_step(
                           step, step == 0 ? augmented(input, seed) : input, seed);
                     }});
    return all;
  }
  torch::Tensor layers_loss(const torch::Tensor& output, const train::Batch& batch) override {
    return shape_.is_mlperf ? torch::mse_loss(output, batch.target)
                            : torch::l1_loss(output, batch.target);
  }

  train::Metrics evaluate(Communicator& communicator, const fs::path& folder) override {
    average_buffers(*network_, communicator);
    const std::vector<Guess> guesses = guesses_of(
        *judged_, first_judged_, samples_to_judge(*this, options_, judged_->size() - first_judged_),
        communicator.rank(), communicator.size(), &communicator);
    const std::vector<ParameterScore> all = scores(parameters_, guesses);
    if (!folder.empty())
      for (std::size_t i = 0; i < parameters_.size(); ++i)
        runs::write_text(folder / (parameters_[i].name + ".svg"),
                         plot::render_svg(truth_chart(parameters_, guesses, i)));
    train::Metrics metrics = {{"skill", skill(all)}};
    for (const ParameterScore& score : all) {
      metrics.emplace_back(score.name + "_error", score.error);
      metrics.emplace_back(score.name + "_mean_error", score.mean_error);
    }
    for (const ParameterScore& score : all)
      metrics.emplace_back(score.name + "_correlation", score.correlation);
    metrics.emplace_back("mean_absolute_error", mean_absolute_error(parameters_, guesses));
    return metrics;
  }

  std::vector<std::string> prediction_names() const override {
    std::vector<std::string> names;
    for (const Parameter& parameter : parameters_) names.push_back(parameter.name);
    return names;
  }

  std::vector<std::vector<float>> predict(const fs::path& file) override {
    VolumeFiles files(file.parent_path(), file.filename().string(), variant_, shape_.volume,
                      shape_.channels());
    std::vector<std::vector<float>> rows;
    for (const Guess& guess : guesses_of(files, 0, files.size(), 0, 1, nullptr))
      rows.emplace_back(guess.predicted.begin(), guess.predicted.end());
    return rows;
  }

  void export_script(std::ostream& out) override {
    std::vector<double> centres, scales;
    for (const Parameter& parameter : parameters_) {
      centres.push_back(parameter.centre);
      scales.push_back(parameter.scale);
    }
    network_->export_script(out, options_.text("input"), centres, scales);
  }

  std::string verdict(const train::Metrics& metrics) const override {
    auto value = [&](const std::string& name) { return value_of(metrics, name); };
    std::string text = "Relative errors of the parameters of universes not trained on:\n";
    for (const Parameter& parameter : parameters_)
      text += fmt::format("  {:<8} {:.4f}, saying the mean {:.4f} (correlation {:.2f})\n",
                          parameter.name, value(parameter.name + "_error"),
                          value(parameter.name + "_mean_error"),
                          value(parameter.name + "_correlation"));
    if (shape_.is_mlperf)
      text += fmt::format(
          "Mean absolute error of the unit parameters {:.3f}; MLPerf HPC asks for "
          "{} at most.\n",
          value("mean_absolute_error"), kMlperfTarget);
    return text;
  }

 private:
  void swap_validation() override { std::swap(judged_, validation_); }

  std::unique_ptr<VolumeFiles> files_of(const fs::path& folder, const std::string& prefix) {
    return std::make_unique<VolumeFiles>(folder, prefix, variant_, shape_.volume, shape_.channels(),
                                         &*keep_);
  }

  train::Batch batch_of(VolumeFiles& files, std::span<const std::int64_t> indices) const {
    const auto count = static_cast<std::int64_t>(indices.size());
    const std::int64_t side = shape_.volume;
    torch::Tensor volumes = torch::empty({count, shape_.channels(), side, side, side});
    files.volumes(indices, volumes.data_ptr<float>());
    if (options_.text("input") == "log") volumes.log1p_();
    if (options_.text("input") == "contrast") volumes.sub_(1);
    torch::Tensor targets = torch::empty({count, shape_.outputs()});
    float* target = targets.data_ptr<float>();
    for (std::int64_t index : indices)
      for (std::size_t i = 0; i < parameters_.size(); ++i)
        *target++ = static_cast<float>((files.truth(index)[i] - parameters_[i].centre) /
                                       parameters_[i].scale);
    return {volumes, targets, {}};
  }

  // Turned and mirrored: its parameters stay what they are.
  torch::Tensor augmented(const torch::Tensor& volumes, std::uint64_t seed) const {
    if (!options_.flag("augment")) return volumes;
    return turned(volumes, Random(mixed_seed(seed, 99)).below(kCubeSymmetries));
  }

  // Whole universes are held out: pieces of one know of each other.
  std::int64_t trained_on(std::int64_t all) const {
    const auto cuts = options_.integer("cuts"), pieces = cuts * cuts * cuts;
    const auto held = std::llround(options_.number("hold_out") * double(all / pieces)) * pieces;
    return std::max<std::int64_t>(1, all - held);
  }

  // Of `all` samples from `begin` on. Every rank works on its part; with a communicator all get
  // all.
  std::vector<Guess> guesses_of(VolumeFiles& files, std::int64_t begin, std::int64_t all, int rank,
                                int ranks, Communicator* communicator) {
    const std::size_t width = parameters_.size();
    std::vector<float> outputs(static_cast<std::size_t>(all) * width);
    for_batches(all, 4, rank, ranks, [&](std::int64_t first, std::span<const std::int64_t> places) {
      std::vector<std::int64_t> indices(places.begin(), places.end());
      for (std::int64_t& index : indices) index += begin;
      const torch::Tensor out = network_->forward(batch_of(files, indices).input).contiguous();
      std::copy_n(out.data_ptr<float>(), out.numel(),
                  outputs.begin() + first * static_cast<std::int64_t>(width));
      tell_judged(first + std::int64_t(places.size()), all);
    });
    if (communicator)
      communicator->all_reduce(Buffer::of(std::span(outputs)), ReduceOp::kSum, {.name = "guesses"});
    std::vector<Guess> guesses(static_cast<std::size_t>(all));
    for (std::size_t i = 0; i < guesses.size(); ++i) {
      guesses[i].truth = files.truth(begin + static_cast<std::int64_t>(i));
      for (std::size_t p = 0; p < width; ++p)
        guesses[i].predicted.push_back(parameters_[p].centre +
                                       parameters_[p].scale * double(outputs[i * width + p]));
    }
    return guesses;
  }

  const Options& options_;
  const std::string variant_;
  const std::vector<Parameter>& parameters_;
  const torch::ScalarType dtype_;
  NetworkShape shape_;
  std::shared_ptr<Network> network_;
  std::optional<train::KeepBudget> keep_;
  std::unique_ptr<VolumeFiles> train_, judged_;
  std::unique_ptr<VolumeFiles> validation_;  // where the data has it
  std::int64_t train_samples_ = 0, first_judged_ = 0;
};

}  // namespace

std::unique_ptr<train::Task> make_task(const Options& options) {
  return std::make_unique<CosmoflowTask>(options);
}

}  // namespace tutti::models::cosmoflow
