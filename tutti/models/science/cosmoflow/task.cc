#include "tutti/models/science/cosmoflow/case.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include "tutti/core/random.h"
#include "tutti/kernels/conv3d/volume.h"
#include "tutti/models/nets/case_task.h"
#include "tutti/models/nets/layer_stack.h"
#include "tutti/models/science/cosmoflow/generate.h"
#include "tutti/models/science/cosmoflow/metric.h"
#include "tutti/models/science/cosmoflow/model.h"
#include "tutti/models/science/cosmoflow/volumes.h"
#include "tutti/runs/training_log.h"
#include "tutti/train/process_setup.h"

namespace tutti::models::cosmoflow {
namespace {

namespace fs = std::filesystem;
using comm::Communicator;

constexpr std::int64_t kEvalBatch = 4;

std::string name_of(const DataPlan& plan) {
  return fmt::format("cosmoflow-{}-{}-{}-{}-{}-{}-{}",
                     plan.variant == Variant::kMlperf ? "mlperf" : "paper", plan.universe.cells,
                     plan.cuts, plan.universe.particles, plan.universe.box, plan.train_universes,
                     plan.test_universes);
}

// For the paper's network and that of MLPerf, whose pooling needs f32 (measured in bf16 only).
constexpr ValueBytes kPaperBytes{.f32 = 4, .bf16 = 5.2}, kMlperfBytes{.f32 = 16, .bf16 = 16};

NetworkShape shape_of(const Options& options) {
  NetworkShape shape;
  shape.is_mlperf = options.choice<Variant>("variant") == Variant::kMlperf;
  shape.volume = static_cast<int>(options.integer("volume"));
  shape.filters = static_cast<int>(options.integer("filters"));
  shape.dropout = options.number("dropout");
  shape.has_norm = options.flag("batch_norm");
  shape.reads_means = options.text("readout") == "means";
  return shape;
}

class CosmoflowTask : public CaseTask<VolumeFiles, Network> {
 public:
  explicit CosmoflowTask(const Options& options)
      : CaseTask(options, std::make_shared<Network>(shape_of(options), seed_of(options),
                                                    train::compute_type(options))),
        variant_(options.choice<Variant>("variant")),
        parameters_(parameters(variant_)),
        dtype_(train::compute_type(options)),
        shape_(shape_of(options)) {}

  double flops_per_sample() const override { return train_flops(shape_); }
  double bytes_per_sample() const override {
    return (shape_.is_mlperf ? kMlperfBytes : kPaperBytes).at(dtype_) * output_values(shape_);
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
    const std::vector<Prediction> predictions = eval_predictions(communicator);
    const std::vector<ParameterScore> all = scores(parameters_, predictions);
    if (!folder.empty())
      for (std::size_t i = 0; i < parameters_.size(); ++i)
        runs::write_text(folder / (parameters_[i].name + ".svg"),
                         plot::render_svg(truth_chart(parameters_, predictions, i)));
    train::Metrics metrics = {{"skill", skill(all)}};
    for (const ParameterScore& score : all) {
      metrics.emplace_back(score.name + "_error", score.error);
      metrics.emplace_back(score.name + "_mean_error", score.mean_error);
    }
    for (const ParameterScore& score : all)
      metrics.emplace_back(score.name + "_correlation", score.correlation);
    metrics.emplace_back("mean_absolute_error", mean_absolute_error(parameters_, predictions));
    return metrics;
  }

  std::vector<std::string> prediction_names() const override {
    std::vector<std::string> names;
    for (const Parameter& parameter : parameters_) names.push_back(parameter.name);
    return names;
  }

  std::vector<std::vector<float>> predict(const fs::path& file) override {
    const std::unique_ptr<VolumeFiles> files = open_file(file);
    std::vector<std::vector<float>> rows;
    for_batches(files->size(), kEvalBatch, 0, 1,
                [&](std::int64_t, std::span<const std::int64_t> indices) {
                  const torch::Tensor out = outputs_of(*files, indices);
                  for (std::size_t i = 0; i < indices.size(); ++i) {
                    const auto values = physical(out.data_ptr<float>() + i * parameters_.size());
                    rows.emplace_back(values.begin(), values.end());
                  }
                });
    return rows;
  }

  void export_script(std::ostream& out) override {
    std::vector<double> centres, scales;
    for (const Parameter& parameter : parameters_) {
      centres.push_back(parameter.centre);
      scales.push_back(parameter.scale);
    }
    network_->export_script(out, options_.choice<Input>("input"), centres, scales);
  }

  std::string verdict(const train::Metrics& metrics) const override {
    auto value = [&](const std::string& name) { return value_of(metrics, name); };
    std::string text = "Relative errors of the parameters on the test set:\n";
    for (const Parameter& parameter : parameters_)
      text += fmt::format("  {:<8} {:.4f}, constant-mean baseline {:.4f} (correlation {:.2f})\n",
                          parameter.name, value(parameter.name + "_error"),
                          value(parameter.name + "_mean_error"),
                          value(parameter.name + "_correlation"));
    if (shape_.is_mlperf)
      text += fmt::format(
          "Mean absolute error of the unit parameters {:.3f}; the target of MLPerf HPC is {}.\n",
          value("mean_absolute_error"), kMlperfTarget);
    return text;
  }

 private:
  GeneratedData generated() const override {
    DataPlan plan = data_plan(options_);
    if (options_.number("hold_out") > 0) plan.val_universes = 0;  // the held-out ones are evaluated
    return {.name = name_of(plan),
            .what = "universes",
            .val = plan.val_universes,
            .generate = generator(generate, plan),
            .bytes = plan.bytes_to_make()};
  }

  std::unique_ptr<VolumeFiles> open(const fs::path& folder, const std::string& prefix,
                                    train::SampleCacheBudget* cache) const override {
    return std::make_unique<VolumeFiles>(folder, prefix, variant_, shape_.volume, shape_.channels(),
                                         cache);
  }

  train::Batch batch_of(VolumeFiles& files, std::span<const std::int64_t> indices) override {
    const auto count = static_cast<std::int64_t>(indices.size());
    const std::int64_t side = shape_.volume;
    torch::Tensor volumes = torch::empty({count, shape_.channels(), side, side, side});
    files.volumes(indices, volumes.data_ptr<float>());
    const auto input = options_.choice<Input>("input");
    if (input == Input::kLog) volumes.log1p_();
    if (input == Input::kContrast) volumes.sub_(1);
    torch::Tensor targets = torch::empty({count, shape_.outputs()});
    float* target = targets.data_ptr<float>();
    for (std::int64_t index : indices)
      for (std::size_t i = 0; i < parameters_.size(); ++i)
        *target++ = static_cast<float>((files.truth(index)[i] - parameters_[i].centre) /
                                       parameters_[i].scale);
    return {volumes, targets, {}};
  }

  // Rotated and mirrored; the parameters do not change.
  torch::Tensor augmented(const torch::Tensor& volumes, std::uint64_t seed) const {
    if (!options_.flag("augment")) return volumes;
    return kernels::apply_cube_symmetry(
        volumes, Random(mixed_seed(seed, 99)).below(kernels::kCubeSymmetries));
  }

  // Whole universes are held out, because samples of one universe are correlated.
  std::int64_t held_out(std::int64_t all) const override {
    const auto cuts = options_.integer("cuts"), pieces = cuts * cuts * cuts;
    const auto held = std::llround(options_.number("hold_out") * double(all / pieces)) * pieces;
    return std::min<std::int64_t>(held, all - 1);
  }

  torch::Tensor outputs_of(VolumeFiles& files, std::span<const std::int64_t> indices) {
    return network_->forward(batch_of(files, indices).input).contiguous();
  }

  // The parameters of one universe from its outputs.
  std::vector<double> physical(const float* outputs) const {
    std::vector<double> values;
    for (const Parameter& parameter : parameters_)
      values.push_back(parameter.centre + parameter.scale * double(*outputs++));
    return values;
  }

  // Samples are divided among the ranks; all return all predictions.
  std::vector<Prediction> eval_predictions(Communicator& communicator) {
    const std::size_t width = parameters_.size();
    std::vector<float> outputs(static_cast<std::size_t>(eval_count()) * width);
    for_eval_batches(communicator, kEvalBatch,
                     [&](std::int64_t first, std::span<const std::int64_t> numbers) {
                       std::vector<std::int64_t> indices(numbers.begin(), numbers.end());
                       for (std::int64_t& index : indices) index += eval_first();
                       const torch::Tensor out = outputs_of(eval_set(), indices);
                       std::copy_n(out.data_ptr<float>(), out.numel(),
                                   outputs.begin() + first * static_cast<std::int64_t>(width));
                     });
    communicator.all_reduce(Buffer::of(std::span(outputs)), ReduceOp::kSum, {.name = "guesses"});
    std::vector<Prediction> predictions(outputs.size() / width);
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      predictions[i].truth = eval_set().truth(eval_first() + static_cast<std::int64_t>(i));
      predictions[i].predicted = physical(outputs.data() + i * width);
    }
    return predictions;
  }

  const Variant variant_;
  const std::vector<Parameter>& parameters_;
  const torch::ScalarType dtype_;
  const NetworkShape shape_;
};

}  // namespace

std::unique_ptr<train::Task> make_task(const Options& options) {
  return std::make_unique<CosmoflowTask>(options);
}

}  // namespace tutti::models::cosmoflow
