#include "tutti/models/vision/unet3d/case.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "tutti/core/random.h"
#include "tutti/kernels/conv3d/volume.h"
#include "tutti/models/nets/case_task.h"
#include "tutti/models/nets/layer_stack.h"
#include "tutti/models/vision/unet3d/metric.h"
#include "tutti/models/vision/unet3d/model.h"
#include "tutti/models/vision/unet3d/scans.h"
#include "tutti/models/vision/unet3d/slices.h"
#include "tutti/runs/training_log.h"
#include "tutti/train/data/h5.h"
#include "tutti/train/process_setup.h"

namespace tutti::models::unet3d {
namespace {

namespace fs = std::filesystem;
using comm::Communicator;
using Labels = std::vector<std::uint8_t>;

constexpr std::int64_t kThresholdScans = 32;  // for the search of the thresholds
constexpr std::int64_t kDrawnScans = 2;

NetworkShape shape_of(const Options& options) {
  NetworkShape shape;
  shape.volume = static_cast<int>(options.integer("volume"));
  shape.filters = static_cast<int>(options.integer("filters"));
  shape.depth = static_cast<int>(options.integer("depth"));
  shape.has_deconvolution = options.text("upsampling") == "deconvolution";
  shape.has_norm = options.text("norm") == "instance";
  return shape;
}

// Peak memory of a step relative to the outputs of the layers; measured.
constexpr double kCopies = 2.2;

class UnetTask : public CaseTask<ScanFiles, Network> {
 public:
  explicit UnetTask(const Options& options)
      : CaseTask(options, std::make_shared<Network>(shape_of(options), seed_of(options),
                                                    train::compute_type(options))),
        shape_(shape_of(options)) {
    if (options.text("lms_tiling") != "0") network_->use_library_operators();
  }

  double flops_per_sample() const override { return train_flops(shape_); }
  double bytes_per_sample() const override { return kCopies * activation_bytes(shape_, true); }

  train::Batch random_batch(std::int64_t count) override {
    const std::int64_t side = shape_.volume;
    return {torch::rand({count, kModalities, side, side, side}),
            torch::randint(3, {count, side, side, side}, torch::kUInt8),
            {}};
  }

  torch::Tensor loss(const train::Batch& batch, std::uint64_t seed) override {
    if (!options_.flag("augment")) return loss_of(network_->forward(batch.input), batch.target);
    const std::uint64_t symmetry = Random(seed).below(kernels::kCubeSymmetries);
    return loss_of(network_->forward(kernels::apply_cube_symmetry(batch.input, symmetry)),
                   kernels::apply_cube_symmetry(batch.target, symmetry));
  }

  std::vector<train::Layer> layers() override {
    std::vector<train::Layer> all;
    for (int step = 0; step < network_->steps(); ++step)
      all.push_back({.flops = network_->step_flops(step),
                     .tensors = network_->step_tensors(step),
                     .forward = [this, step](const torch::Tensor& input, std::uint64_t) {
                       return network_->forward_step(step, input);
                     }});
    return all;
  }
  torch::Tensor layers_loss(const torch::Tensor& output, const train::Batch& batch) override {
    return loss_of(output, batch.target);
  }

  train::Metrics evaluate(Communicator& communicator, const fs::path& folder) override {
    const std::int64_t all = eval_count();
    std::array<double, 2 * kRegions> sums{};  // of the network, then of the thresholds
    for (std::int64_t i = communicator.rank(); i < all; i += communicator.size()) {
      const Scan scan = eval_set().read(i);
      const Labels found = find(scan);
      for (int region = 0; region < kRegions; ++region) {
        const auto at = static_cast<std::size_t>(region);
        sums[at] += overlap(region, scan.labels, found).dice();
        sums[kRegions + at] += overlap(region, thresholds_[at], scan.images, scan.labels).dice();
      }
      report_evaluated(i + 1, all);
    }
    communicator.all_reduce(Buffer::of(std::span<double>(sums)), ReduceOp::kSum, {.name = "dice"});
    if (!folder.empty()) draw(folder, std::min(all, kDrawnScans));
    train::Metrics metrics = {{"dice", 0}};
    for (int kind = 0; kind < 2; ++kind)
      for (std::size_t region = 0; region < kRegions; ++region) {
        const double mean = sums[kind * kRegions + region] / double(std::max<std::int64_t>(1, all));
        metrics.emplace_back(
            fmt::format("{}_{}", kind == 0 ? "dice" : "threshold", region_names()[region]), mean);
        if (kind == 0) metrics[0].second += mean / kRegions;
      }
    return metrics;
  }

  std::vector<std::string> prediction_names() const override {
    std::vector<std::string> names;
    for (const char* region : region_names()) names.push_back(fmt::format("{}_voxels", region));
    return names;
  }

  std::vector<std::vector<float>> predict(const fs::path& file) override {
    const ScanFiles files(file.parent_path(), file.filename().string(), shape_.volume, false);
    std::vector<std::vector<float>> rows;
    for (std::int64_t i = 0; i < files.size(); ++i) {
      const Labels found = find(files.read(i));
      std::vector<float>& row = rows.emplace_back();
      for (int region = 0; region < kRegions; ++region)
        row.push_back(static_cast<float>(overlap(region, found, found).found));
    }
    return rows;
  }

  // Writes the label of every voxel as `labels` (N, side, side, side).
  bool predict_samples(const fs::path& file, const fs::path& output) override {
    const ScanFiles files(file.parent_path(), file.filename().string(), shape_.volume, false);
    const std::vector<std::int64_t> shape(3, shape_.volume);
    train::H5File out(output, train::H5File::Mode::kCreate);
    for (std::int64_t i = 0; i < files.size(); ++i) {
      const Labels found = find(files.read(i));
      out.append("labels", shape, std::vector<float>(found.begin(), found.end()));
    }
    out.close();
    return true;
  }

  // Input: images as in the files. Output: probabilities of the labels 1, 2 and 4.
  void export_script(std::ostream& out) override {
    const torch::ScalarType before = network_->dtype();
    network_->compute_in(torch::kFloat32);
    const std::int64_t side = shape_.volume;
    export_traced(
        *network_, [&](const torch::Tensor& x) { return torch::sigmoid(network_->forward(x)); },
        torch::rand({1, kModalities, side, side, side}), out);
    network_->compute_in(before);
  }

  std::string verdict(const train::Metrics& metrics) const override {
    std::string text = "Dice coefficient on the test set (1 is perfect):\n";
    for (const char* region : region_names())
      text += fmt::format("  {:<10} {:.3f}, best-threshold baseline {:.3f}\n", region,
                          value_of(metrics, fmt::format("dice_{}", region)),
                          value_of(metrics, fmt::format("threshold_{}", region)));
    return text;
  }

 private:
  GeneratedData generated() const override {
    const SplitSizes sizes = split_sizes(options_, "scans");
    return {.name = fmt::format("unet3d-{}", shape_.volume),
            .what = "scans",
            .val = sizes.val,
            .generate =
                generator(generate, ScanPlan{shape_.volume, sizes.train, sizes.test, sizes.val}),
            .most = sizes};
  }

  std::unique_ptr<ScanFiles> open(const fs::path& folder, const std::string& name,
                                  train::SampleCacheBudget*) const override {
    return std::make_unique<ScanFiles>(folder, name, shape_.volume);
  }
  bool has_samples(const fs::path& folder, const std::string& name) const override {
    return CaseTask::has_samples(folder, name) || fs::is_directory(folder / name);
  }

  void on_data_ready(Communicator&) override { find_thresholds(); }

  train::Batch batch_of(ScanFiles& files, std::span<const std::int64_t> indices) override {
    const std::int64_t count = static_cast<std::int64_t>(indices.size()), side = shape_.volume;
    torch::Tensor images = torch::empty({count, kModalities, side, side, side});
    torch::Tensor labels = torch::empty({count, side, side, side}, torch::kUInt8);
    float* image = images.data_ptr<float>();
    std::uint8_t* label = labels.data_ptr<std::uint8_t>();
    for (std::int64_t index : indices) {
      const Scan scan = files.read(index);
      image = std::ranges::copy(scan.images, image).out;
      label = std::ranges::copy(scan.labels, label).out;
    }
    return {images, labels, {}};
  }

  torch::Tensor loss_of(const torch::Tensor& scores, const torch::Tensor& labels) const {
    const torch::Tensor dice = dice_loss(scores, labels);
    const double weight = options_.number("entropy_weight");
    return weight > 0 ? dice + weight * label_entropy(scores, labels) : dice;
  }

  void find_thresholds() {
    ThresholdSearch search;
    for (std::int64_t i = 0; i < std::min(train_samples(), kThresholdScans); ++i) {
      const Scan scan = train_set().read(i);
      search.add(scan.images, scan.labels);
    }
    for (int region = 0; region < kRegions; ++region)
      thresholds_[static_cast<std::size_t>(region)] = search.best(region);
  }

  Labels find(const Scan& scan) {
    const torch::NoGradGuard no_gradients;
    const std::int64_t side = shape_.volume;
    const torch::Tensor images = torch::from_blob(const_cast<float*>(scan.images.data()),
                                                  {1, kModalities, side, side, side});
    const torch::Tensor labels = labels_of(network_->forward(images)).contiguous();
    return {labels.data_ptr<std::uint8_t>(), labels.data_ptr<std::uint8_t>() + labels.numel()};
  }

  void draw(const fs::path& folder, std::int64_t count) {
    std::vector<Slices> heads;
    for (std::int64_t i = 0; i < count; ++i) {
      Scan scan = eval_set().read(i);
      Labels found = find(scan);
      heads.push_back({std::move(scan), std::move(found)});
    }
    runs::write_text(folder / "slices.svg", slices_svg(shape_.volume, heads));
  }

  const NetworkShape shape_;
  std::array<Threshold, kRegions> thresholds_;
};

}  // namespace

std::unique_ptr<train::Task> make_task(const Options& options) {
  return std::make_unique<UnetTask>(options);
}

}  // namespace tutti::models::unet3d
