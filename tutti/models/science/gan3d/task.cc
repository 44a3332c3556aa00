#include "tutti/models/science/gan3d/case.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "tutti/core/clock.h"
#include "tutti/core/random.h"
#include "tutti/models/nets/case_task.h"
#include "tutti/models/nets/layer_stack.h"
#include "tutti/models/science/gan3d/generate.h"
#include "tutti/models/science/gan3d/losses.h"
#include "tutti/models/science/gan3d/metric.h"
#include "tutti/models/science/gan3d/model.h"
#include "tutti/models/science/gan3d/showers.h"
#include "tutti/runs/training_log.h"
#include "tutti/train/process_setup.h"

namespace tutti::models::gan3d {
namespace {

namespace fs = std::filesystem;
using comm::Communicator;

constexpr std::int64_t kEvalBatch = 32, kMeanShowers = 2000;
constexpr std::uint64_t kEvalSeed = 20191118;

struct Timed {
  std::vector<float> cells;
  double seconds = 0;  // of the generator
};

// Results for a pair of showers of the same energy.
struct Pair {
  Shape generated, real;
  float score_generated = 0, score_real = 0;  // 1: the discriminator classifies it as real
};
constexpr std::size_t kPairValues = sizeof(Pair) / sizeof(float);

NetworkShape shape_of_options(const Options& options) {
  auto integer = [&](const char* name) { return static_cast<int>(options.integer(name)); };
  return {.latent = integer("latent"),
          .generator_filters = integer("generator_filters"),
          .filters = integer("filters"),
          .kernel = integer("kernel") | 1,
          .dropout = options.number("dropout"),
          .norm_momentum = options.number("norm_momentum"),
          .stride = integer("stride"),
          .cell_unit = options.number("cell_unit"),
          .cell_power = options.number("cell_power"),
          .is_relative = options.text("conditioning") == "relative"};
}

// Peak memory of a step relative to the outputs of the layers; measured.
constexpr double kCopies = 2.4;

class Gan3dTask : public CaseTask<ShowerFiles, Gan> {
 public:
  explicit Gan3dTask(const Options& options)
      : CaseTask(options, std::make_shared<Gan>(shape_of_options(options), seed_of(options),
                                                train::compute_type(options))),
        shape_(shape_of_options(options)),
        weights_{options.number("adversarial_weight"), options.number("energy_weight"),
                 options.number("sum_weight"), options.number("profile_weight"),
                 options.number("response_weight")} {}

  double flops_per_sample() const override {
    return step_flops(shape_, options_.integer("generator_updates"));
  }
  double bytes_per_sample() const override { return 4 * kCopies * output_values(shape_); }

  train::Batch random_batch(std::int64_t count) override {
    return {torch::rand({count, kSide, kSide, kSide}) * 0.01, torch::rand({count}) + 0.1, {}};
  }

  // One update of the discriminator on real showers and one on generated ones, then those of the generator, with the
  // updated discriminator.
  std::vector<train::Update> updates() const override {
    std::vector<train::Update> all = {{"loss_real", "discriminator.", "loss_true"},
                                      {"loss_generated", "discriminator.", "loss_made"},
                                      {"loss_generator", "generator."}};
    for (std::int64_t i = 2; i <= options_.integer("generator_updates"); ++i)
      all.push_back({fmt::format("loss_generator_{}", i), "generator."});
    return all;
  }

  torch::Tensor update_loss(std::size_t update, const train::Batch& batch,
                            std::uint64_t seed) override {
    const std::uint64_t own = mixed_seed(seed, update);
    if (update == 0) return discriminator_step_loss(batch.input, batch.target, 1, own);
    Electrons electrons = draw_electrons(batch.input.size(0), shape_.latent, own);
    if (update > 1) {
      // Distributions are compared at the energies of the real showers.
      const bool compares = weights_.profiles > 0 || weights_.responses > 0;
      if (compares) electrons.energies = batch.target;
      const torch::Tensor cells = generated(electrons, Norms::kFollow);
      const torch::Tensor loss =
          generator_loss(network_->discriminator->forward(cells, own, Norms::kKeep), cells,
                         electrons.energies, weights_);
      if (!compares) return loss;
      auto distance = [&](auto of) {
        return of(cells, electrons.energies, batch.input, batch.target);
      };
      return loss + weights_.profiles * distance(profile_distance) +
             weights_.responses * distance(response_distance);
    }
    torch::Tensor cells;
    {
      const torch::NoGradGuard no_gradients;
      cells = generated(electrons, Norms::kKeep);
    }
    return discriminator_step_loss(cells, electrons.energies, 0, own);
  }
  torch::Tensor loss(const train::Batch& batch, std::uint64_t seed) override {
    return update_loss(0, batch, seed);
  }

  train::Metrics evaluate(Communicator& communicator, const fs::path& folder) override {
    average_buffers(*network_, communicator);
    double seconds[2] = {0, 0};  // per shower: network, parametrisation
    const std::vector<Pair> pairs = pairs_of_test(communicator, seconds);
    Comparison comparison, baseline;
    double right = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      comparison.energies.push_back(eval_set().energy(static_cast<std::int64_t>(i)));
      comparison.generated.push_back(pairs[i].generated);
      comparison.real.push_back(pairs[i].real);
      baseline.generated.push_back(scaled_mean_shower(comparison.energies.back()));
      right += 0.5 * double{pairs[i].score_real} + 0.5 * (1 - double{pairs[i].score_generated});
    }
    if (!folder.empty()) write_plots(comparison, folder);
    baseline.energies = comparison.energies;
    baseline.real = comparison.real;
    const Verdict verdict = compare(comparison);
    train::Metrics metrics = {{"agreement", 1 - verdict.error()}};
    add_errors(metrics, "", verdict);
    metrics.insert(metrics.end(), {{"resolution", verdict.resolution_generated},
                                   {"resolution_true", verdict.resolution_real},
                                   {"discriminator_accuracy", right / double(pairs.size())},
                                   {"network_ms", 1e3 * seconds[0]},
                                   {"parametrisation_ms", 1e3 * seconds[1]}});
    add_errors(metrics, "mean_shower_", compare(baseline));
    return metrics;
  }

  // Output of the discriminator for the showers of a file: probability of a real shower and energy in GeV. "true" is
  // the deprecated name of "real".
  std::vector<std::string> prediction_names() const override { return {"real", "energy", "true"}; }

  std::vector<std::vector<float>> predict(const fs::path& file) override {
    const std::unique_ptr<ShowerFiles> files = open_file(file);
    std::vector<std::vector<float>> rows;
    for_batches(files->size(), kEvalBatch, 0, 1,
                [&](std::int64_t, std::span<const std::int64_t> indices) {
                  const DiscriminatorOutput output =
                      network_->discriminator->forward(batch_of(*files, indices).input, 0);
                  for (std::size_t i = 0; i < indices.size(); ++i) {
                    const auto at = static_cast<std::int64_t>(i);
                    const float real = torch::sigmoid(output.logit[at]).item<float>();
                    rows.push_back({real, 100 * output.energy[at].item<float>(), real});
                  }
                });
    return rows;
  }

  // Generates a shower for every energy of a file.
  bool predict_samples(const fs::path& file, const fs::path& output) override {
    const ShowerFiles files(file.parent_path(), file.filename().string(), false);
    train::H5File out(output, train::H5File::Mode::kCreate);
    for_batches(files.size(), kEvalBatch, 0, 1,
                [&](std::int64_t first, std::span<const std::int64_t> indices) {
                  std::vector<double> energies;
                  for (std::int64_t index : indices) energies.push_back(files.energy(index));
                  add_showers(out, energies, showers_of(energies, first).cells);
                });
    out.close();
    return true;
  }

  void export_script(std::ostream& out) override { network_->generator->export_script(out); }

  std::string verdict(const train::Metrics& metrics) const override {
    auto percent = [&](const std::string& name) { return 100 * value_of(metrics, name); };
    // The published generator starts with hundreds of times the right energy.
    auto error = [&](const std::string& name) {
      const double value = value_of(metrics, name);
      return value < 10 ? fmt::format("{:.1f} %", 100 * value) : fmt::format("{:.0f} times", value);
    };
    auto errors = [&](const std::string& of) {
      return fmt::format("{} in layers, {} across, {} in depth, {} in width, {} in response",
                         error(of + "longitudinal_error"), error(of + "lateral_error"),
                         error(of + "depth_error"), error(of + "width_error"),
                         error(of + "response_error"));
    };
    const double separation = value_of(metrics, "separation");
    return fmt::format(
        "Generated showers differ from real ones by {}\n(baseline, the mean shower scaled with the "
        "energy: {}).\nTheir resolution is {:.1f} % (real: {:.1f} %). {}\nA shower takes the "
        "network {:.2f} ms, the parametrisation {:.2f} ms.\n",
        errors(""), errors("mean_shower_"), percent("resolution"), percent("resolution_true"),
        separation > 0
            ? fmt::format("A classifier separates them with an AUC of {:.3f}.", separation)
            : "They are too few for a classifier.",
        value_of(metrics, "network_ms"), value_of(metrics, "parametrisation_ms"));
  }

 private:
  GeneratedData generated() const override {
    const auto [train, test, val] = split_sizes(options_, "showers");
    return {.name = fmt::format("gan3d-{}-{}", train, test),
            .what = "showers",
            .val = val,
            .generate = generator(generate, DataPlan{train, test, val})};
  }

  std::unique_ptr<ShowerFiles> open(const fs::path& folder, const std::string& prefix,
                                    train::SampleCacheBudget* cache) const override {
    return std::make_unique<ShowerFiles>(folder, prefix, true, cache);
  }

  void on_data_ready(Communicator& communicator) override {
    mean_shower_ = mean_shower(communicator);
    if (shape_.is_relative) network_->generator->set_mean_shower(mean_shower_);
  }

  train::Batch batch_of(ShowerFiles& files, std::span<const std::int64_t> indices) override {
    const auto count = static_cast<std::int64_t>(indices.size());
    torch::Tensor cells = torch::empty({count, kSide, kSide, kSide});
    files.cells(indices, cells.data_ptr<float>());
    torch::Tensor energies = torch::empty({count});
    for (std::int64_t i = 0; i < count; ++i)
      energies[i] = files.energy(indices[static_cast<std::size_t>(i)]) / 100;
    return {cells, energies, {}};
  }

  torch::Tensor generated(const Electrons& electrons, Norms norms) {
    return network_->generator->forward(electrons.energies, electrons.noise, norms);
  }

  static void add_errors(train::Metrics& metrics, const std::string& of, const Verdict& verdict) {
    for (const auto& [name, value] : {std::pair("longitudinal_error", verdict.longitudinal),
                                      {"lateral_error", verdict.lateral},
                                      {"depth_error", verdict.depth},
                                      {"width_error", verdict.width},
                                      {"response_error", verdict.response}})
      metrics.emplace_back(of + name, value);
    if (verdict.separation) metrics.emplace_back(of + "separation", *verdict.separation);
  }

  // Baseline without learning.
  Shape scaled_mean_shower(double energy) const {
    const torch::Tensor cells = (mean_shower_ * visible(energy / 100)).contiguous();
    return shape_of({cells.data_ptr<float>(), static_cast<std::size_t>(kCells)});
  }

  // Mean fraction of the visible energy in each cell, over the first training showers and their mirror images and
  // transpositions in the two lateral axes.
  torch::Tensor mean_shower(Communicator& communicator) {
    const std::int64_t count = std::min(kMeanShowers, train_set().size());
    torch::Tensor sum = torch::zeros({kSide, kSide, kSide});
    for_batches(count, kEvalBatch, communicator.rank(), communicator.size(),
                [&](std::int64_t, std::span<const std::int64_t> indices) {
                  const train::Batch batch = batch_of(train_set(), indices);
                  sum += (batch.input / visible(batch.target).view({-1, 1, 1, 1})).sum(0);
                });
    communicator.all_reduce({sum.data_ptr(), sum.numel(), DType::kF32}, ReduceOp::kSum,
                            {.name = "mean_shower"});
    sum = sum + sum.flip(0);
    sum = sum + sum.flip(1);
    return (sum + sum.transpose(0, 1)) / (8 * double(count));
  }

  // Loss on showers that are all real (1) or all generated (0); a fraction of the labels is flipped.
  torch::Tensor discriminator_step_loss(const torch::Tensor& cells, const torch::Tensor& energies,
                                        float label, std::uint64_t seed) {
    const torch::Generator random = at::detail::createCPUGenerator(mixed_seed(seed, 1));
    const torch::Tensor flipped =
        torch::rand({energies.size(0)}, random) < options_.number("label_flip");
    const torch::Tensor labels = (flipped.to(torch::kFloat32) - label).abs();
    return discriminator_loss(network_->discriminator->forward(cells, seed), labels, energies,
                              weights_);
  }

  // Depends only on the energies and `number`, not on the distribution of samples over ranks.
  Timed showers_of(const std::vector<double>& energies, std::int64_t number) {
    const auto count = static_cast<std::int64_t>(energies.size());
    Electrons electrons = draw_electrons(count, shape_.latent,
                                         mixed_seed(kEvalSeed, static_cast<std::uint64_t>(number)));
    for (std::int64_t i = 0; i < count; ++i)
      electrons.energies[i] = energies[static_cast<std::size_t>(i)] / 100;
    const Stopwatch watch;
    const torch::Tensor cells = torch::threshold(generated(electrons, Norms::kKeep), kThreshold, 0);
    const double seconds = watch.seconds();
    return {std::vector<float>(cells.data_ptr<float>(), cells.data_ptr<float>() + cells.numel()),
            seconds};
  }

  // Samples are divided among the ranks; all return all pairs. `seconds` are means over the ranks.
  std::vector<Pair> pairs_of_test(Communicator& communicator, double (&seconds)[2]) {
    const std::int64_t all = eval_count();
    std::vector<Pair> pairs(static_cast<std::size_t>(all));
    double generated_here = 0;
    for_eval_batches(communicator, kEvalBatch,
                     [&](std::int64_t first, std::span<const std::int64_t> indices) {
                       const Timed timed = add_pairs(indices, first, pairs);
                       seconds[0] += timed.seconds;
                       generated_here += double(indices.size());
                     });
    seconds[0] /= std::max(1.0, generated_here);
    seconds[1] = parametrisation_seconds();
    communicator.all_reduce({seconds, 2, DType::kF64}, ReduceOp::kAverage, {.name = "seconds"});
    communicator.all_reduce({pairs.data(), all * std::int64_t{kPairValues}, DType::kF32},
                            ReduceOp::kSum, {.name = "pairs"});
    return pairs;
  }

  Timed add_pairs(std::span<const std::int64_t> indices, std::int64_t first,
                  std::vector<Pair>& pairs) {
    const train::Batch batch = batch_of(eval_set(), indices);
    std::vector<double> energies;
    for (std::int64_t index : indices) energies.push_back(eval_set().energy(index));
    Timed timed = showers_of(energies, first);
    const torch::Tensor cells =
        torch::from_blob(timed.cells.data(), batch.input.sizes(), torch::kFloat32);
    const torch::Tensor generated_logit = network_->discriminator->forward(cells, 0).logit,
                        real_logit = network_->discriminator->forward(batch.input, 0).logit;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      auto shape = [&](const float* from) {
        return shape_of({from + at * kCells, static_cast<std::size_t>(kCells)});
      };
      pairs[static_cast<std::size_t>(indices[i])] = {
          shape(timed.cells.data()), shape(batch.input.data_ptr<float>()),
          generated_logit[at].item<float>() > 0 ? 1.f : 0.f,
          real_logit[at].item<float>() > 0 ? 1.f : 0.f};
    }
    return timed;
  }

  // Seconds per shower, over the range of energies.
  static double parametrisation_seconds() {
    constexpr int kShowers = 50;
    Random random(kEvalSeed);
    const Stopwatch watch;
    for (int i = 0; i < kShowers; ++i)
      make_shower(kLowest + (kHighest - kLowest) * random.uniform(), random);
    return watch.seconds() / kShowers;
  }

  static void write_plots(const Comparison& comparison, const fs::path& folder) {
    auto write = [&](const char* name, const plot::Chart& chart) {
      runs::write_text(folder / name, plot::render_svg(chart));
    };
    write("longitudinal.svg", profile_chart(comparison, 2));
    write("lateral.svg", profile_chart(comparison, 0));
    write("response.svg", response_chart(comparison));
    write("cells.svg", spectrum_chart(comparison));
  }

  const NetworkShape shape_;
  const LossWeights weights_;
  torch::Tensor mean_shower_;
};

}  // namespace

std::unique_ptr<train::Task> make_task(const Options& options) {
  return std::make_unique<Gan3dTask>(options);
}

}  // namespace tutti::models::gan3d
