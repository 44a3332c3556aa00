#include "tutti/models/science/climate_segment/case.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "tutti/core/error.h"
#include "tutti/models/nets/case_task.h"
#include "tutti/models/science/climate/map_chart.h"
#include "tutti/models/science/climate_segment/frames.h"
#include "tutti/models/science/climate_segment/metric.h"
#include "tutti/models/science/climate_segment/model.h"
#include "tutti/runs/training_log.h"
#include "tutti/train/data/h5.h"
#include "tutti/train/process_setup.h"

namespace tutti::models::climate_segment {
namespace {

namespace fs = std::filesystem;
using climate::kClasses;
using climate::kFields;
using comm::Communicator;
using Classes = std::vector<std::uint8_t>;

enum class NetworkKind { kTiramisu, kDeepLab };  // the option `network`

int scaled(int filters, double width) {
  return std::max(4, static_cast<int>(std::lround(filters * width)));
}

Grid grid_of(const Options& options) {
  const std::int64_t rows = options.integer("rows");
  return {static_cast<int>(rows), static_cast<int>(rows * 3 / 2)};
}

// Below the published size there are fewer blocks and kernels are 3x3; otherwise images would be too small.
std::unique_ptr<Network> network_of(const Options& options, const Grid& grid) {
  const double width = options.number("width");
  const std::uint64_t seed = seed_of(options);
  const bool is_full = grid.rows >= 384;
  if (options.choice<NetworkKind>("network") == NetworkKind::kTiramisu) {
    TiramisuShape shape{grid.rows, grid.columns, kFields, kClasses};
    shape.first = scaled(shape.first, width);
    shape.growth = scaled(shape.growth, width);
    shape.dropout = options.number("dropout");
    if (!is_full) {
      shape.kernel = 3;
      shape.down = {2, 2, 2};
      shape.up = {2, 2};
    }
    return make_network(shape, seed, train::compute_type(options));
  }
  DeepLabShape shape{grid.rows, grid.columns, kFields, kClasses};
  shape.filters = scaled(shape.filters, width);
  shape.pyramid = scaled(shape.pyramid, width / (is_full ? 1 : 2));
  shape.low = scaled(shape.low, width);
  if (!is_full) {
    shape.units = {2, 2, 2, 2};
    shape.rates = {2, 4, 6};
  }
  return make_network(shape, seed, train::compute_type(options));
}

Classes classes_of(const torch::Tensor& scores) {
  const torch::Tensor best = scores.argmax(0).to(torch::kUInt8).contiguous();
  return {best.data_ptr<std::uint8_t>(), best.data_ptr<std::uint8_t>() + best.numel()};
}

// A Tiramisu also stores dropout masks, and a gradient of every feature for each layer that uses it.
ValueBytes value_bytes(NetworkKind network) {
  if (network == NetworkKind::kTiramisu) return {.f32 = 20, .bf16 = 9.1};
  return {.f32 = 6.8, .bf16 = 3.8};
}

class SegmentTask : public CaseTask<FrameFiles, Network> {
 public:
  explicit SegmentTask(const Options& options)
      : CaseTask(options, network_of(options, grid_of(options))), grid_(grid_of(options)) {
    if (grid_.rows % 16 != 0)
      throw ConfigError("DDL-1-96", "`rows` must be a multiple of 16: the network halves it.");
    weights_.fill(1);
  }

  double flops_per_sample() const override { return train_flops(network_->layers()); }
  double bytes_per_sample() const override {
    return value_bytes(options_.choice<NetworkKind>("network")).at(train::compute_type(options_)) *
           output_values(network_->layers());
  }

  train::Batch random_batch(std::int64_t count) override {
    return {torch::randn({count, grid_.rows, grid_.columns, kFields}).permute({0, 3, 1, 2}),
            torch::randint(kClasses, {count, grid_.rows, grid_.columns}, torch::kInt64),
            {}};
  }

  torch::Tensor loss(const train::Batch& batch, std::uint64_t seed) override {
    torch::manual_seed(seed);  // dropout
    const torch::Tensor weights =
        torch::tensor(std::vector<float>(weights_.begin(), weights_.end()));
    return torch::cross_entropy_loss(network_->forward(batch.input), batch.target, weights);
  }

  train::Metrics evaluate(Communicator& communicator, const fs::path& folder) override {
    average_buffers(*network_, communicator);
    const std::int64_t all = eval_count();
    Overlap to_labels, to_truth, labels_to_truth;
    for (std::int64_t i = communicator.rank(); i < all; i += communicator.size()) {
      const auto [fields, labels] = frame(eval_set(), i);
      const Classes found = find(fields), truth = eval_set().truth(i);
      to_labels.add(labels, found);
      report_evaluated(i + 1, all);
      if (truth.empty()) continue;
      to_truth.add(truth, found);
      labels_to_truth.add(truth, labels);
    }
    for (Overlap* one : {&to_labels, &to_truth, &labels_to_truth})
      communicator.all_reduce(Buffer::of(one->counts()), ReduceOp::kSum, {.name = "overlap"});
    if (!folder.empty()) draw(folder);
    train::Metrics metrics = {{"mean_iou", to_labels.mean_iou()},
                              {"iou_background", to_labels.iou(climate::kBackground)},
                              {"iou_cyclone", to_labels.iou(climate::kCyclone)},
                              {"iou_river", to_labels.iou(climate::kRiver)},
                              {"accuracy", to_labels.accuracy()}};
    if (!eval_set().has_truth()) return metrics;
    metrics.insert(metrics.end(),
                   {{"truth_iou_cyclone", to_truth.iou(climate::kCyclone)},
                    {"truth_iou_river", to_truth.iou(climate::kRiver)},
                    {"labels_truth_iou_cyclone", labels_to_truth.iou(climate::kCyclone)},
                    {"labels_truth_iou_river", labels_to_truth.iou(climate::kRiver)}});
    return metrics;
  }

  std::vector<std::string> prediction_names() const override {
    return {"cyclone_share", "river_share", "cyclones", "rivers"};
  }

  std::vector<std::vector<float>> predict(const fs::path& file) override {
    const std::unique_ptr<FrameFiles> files = open_file(file);
    std::vector<std::vector<float>> rows;
    for (std::int64_t i = 0; i < files->size(); ++i) {
      const Classes found = find(frame(*files, i).first);
      std::vector<float> row;
      for (int label : {climate::kCyclone, climate::kRiver})
        row.push_back(float(std::ranges::count(found, label)) / float(found.size()));
      for (int label : {climate::kCyclone, climate::kRiver}) {
        Classes inside = found;
        for (std::uint8_t& one : inside) one = one == label;
        row.push_back(float(regions(grid_, inside).size()));
      }
      rows.push_back(row);
    }
    return rows;
  }

  // Writes the class of every pixel as `labels` (N, rows, columns).
  bool predict_samples(const fs::path& file, const fs::path& output) override {
    const std::unique_ptr<FrameFiles> files = open_file(file);
    train::H5File out(output, train::H5File::Mode::kCreate);
    for (std::int64_t i = 0; i < files->size(); ++i) {
      const Classes found = find(frame(*files, i).first);
      out.append("labels", std::vector<std::int64_t>{grid_.rows, grid_.columns},
                 std::vector<float>(found.begin(), found.end()));
    }
    out.close();
    return true;
  }

  // Input: fields in their units. Output: probability of each class per pixel.
  void export_script(std::ostream& out) override {
    export_traced(
        *network_, [&](const torch::Tensor& x) { return torch::softmax(network_->forward(x), 1); },
        torch::zeros({1, kFields, grid_.rows, grid_.columns}), out);
  }

  std::string verdict(const train::Metrics& metrics) const override {
    auto percent = [&](const char* name) { return 100 * value_of(metrics, name); };
    std::string text = fmt::format(
        "Intersection over union with the labels: {:.1f} % (mean of background {:.1f}, cyclones "
        "{:.1f}, rivers {:.1f}).\n",
        percent("mean_iou"), percent("iou_background"), percent("iou_cyclone"),
        percent("iou_river"));
    if (!eval_set().has_truth()) return text;
    return text + fmt::format(
                      "With the storms as generated: network {:.1f} (cyclones), {:.1f} (rivers); "
                      "labels {:.1f}, {:.1f}.\n",
                      percent("truth_iou_cyclone"), percent("truth_iou_river"),
                      percent("labels_truth_iou_cyclone"), percent("labels_truth_iou_river"));
  }

 private:
  GeneratedData generated() const override {
    const SplitSizes sizes = split_sizes(options_, "frames");
    return {.name = fmt::format("climate-segment-{}", grid_.rows),
            .what = "weather",
            .val = sizes.val,
            .generate = generator(generate, FramePlan{grid_, sizes.train, sizes.test, sizes.val}),
            .most = sizes};
  }

  std::unique_ptr<FrameFiles> open(const fs::path& folder, const std::string& name,
                                   train::SampleCacheBudget*) const override {
    auto files = std::make_unique<FrameFiles>(folder, name);
    if (files->grid().rows != grid_.rows || files->grid().columns != grid_.columns)
      throw IoError("DDL-7-80",
                    fmt::format("The files have {} rows and {} columns. Set rows={}.",
                                files->grid().rows, files->grid().columns, files->grid().rows));
    return files;
  }
  bool has_samples(const fs::path& folder, const std::string& name) const override {
    return CaseTask::has_samples(folder, name) || fs::is_directory(folder / name);
  }

  void on_data_ready(Communicator&) override {
    const ChannelScale scale = train_set().scale();
    network_->set_scale(scale.mean, scale.deviation);
    weights_ = class_weights(options_.choice<Weighting>("weighting"), train_set().frequencies());
  }

  train::Batch batch_of(FrameFiles& files, std::span<const std::int64_t> indices) override {
    const auto count = static_cast<std::int64_t>(indices.size());
    torch::Tensor fields = torch::empty({count, grid_.rows, grid_.columns, kFields});
    torch::Tensor labels = torch::empty({count, grid_.rows, grid_.columns}, torch::kUInt8);
    for (std::size_t i = 0; i < indices.size(); ++i)
      files.read(indices[i], {fields.data_ptr<float>() + i * values(), values()},
                 {labels.data_ptr<std::uint8_t>() + i * grid_.size(), grid_.size()});
    return {fields.permute({0, 3, 1, 2}), labels.to(torch::kInt64), {}};
  }

  std::size_t values() const { return grid_.size() * kFields; }

  std::pair<torch::Tensor, Classes> frame(const FrameFiles& files, std::int64_t index) const {
    torch::Tensor fields = torch::empty({1, grid_.rows, grid_.columns, kFields});
    Classes labels(grid_.size());
    files.read(index, {fields.data_ptr<float>(), values()}, labels);
    return {fields, labels};
  }

  Classes find(const torch::Tensor& fields) {
    return classes_of(network_->forward(fields.permute({0, 3, 1, 2}))[0]);
  }

  void draw(const fs::path& folder) {
    const auto [fields, labels] = frame(eval_set(), 0);
    const Classes found = find(fields);
    const torch::Tensor moisture = fields[0].select(2, climate::kTMQ).contiguous();
    const std::span<const float> field(moisture.data_ptr<float>(), grid_.size());
    const std::vector<climate::MapPanel> panels = {
        {"Water vapour and labels", field, labels, {}},
        {"Predictions of the network", field, found, {}}};
    const std::vector<climate::Legend> legend = {
        {climate::kCyclone, climate::class_names()[climate::kCyclone]},
        {climate::kRiver, climate::class_names()[climate::kRiver]}};
    runs::write_text(folder / "masks.svg", map_svg(grid_, panels, legend));
  }

  const Grid grid_;
  std::array<float, kClasses> weights_;
};

}  // namespace

std::unique_ptr<train::Task> make_task(const Options& options) {
  return std::make_unique<SegmentTask>(options);
}

}  // namespace tutti::models::climate_segment
