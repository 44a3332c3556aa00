#include "tutti/models/science/climate_segment/task.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "tutti/core/error.h"
#include "tutti/models/nets/task_parts.h"
#include "tutti/models/science/climate/map_chart.h"
#include "tutti/models/science/climate_segment/frames.h"
#include "tutti/models/science/climate_segment/metric.h"
#include "tutti/models/science/climate_segment/model.h"
#include "tutti/runs/training_log.h"
#include "tutti/train/data/h5.h"
#include "tutti/train/engine.h"

namespace tutti::models::climate_segment {
namespace {

namespace fs = std::filesystem;
using climate::kClasses;
using climate::kFields;
using comm::Communicator;
using Classes = std::vector<std::uint8_t>;

int scaled(int filters, double width) {
  return std::max(4, static_cast<int>(std::lround(filters * width)));
}

// Below the published size blocks are fewer and kernels 3x3, or pictures would be too small for
// them.
std::unique_ptr<Network> network_of(const Options& options, const Grid& grid) {
  const double width = options.number("width");
  const auto seed = static_cast<std::uint64_t>(options.integer("seed"));
  const bool is_full = grid.rows >= 384;
  if (options.text("network") == "tiramisu") {
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

// A Tiramisu has masks of dropout besides, and a gradient of every feature for each layer that sees
// it.
ValueBytes value_bytes(const std::string& network) {
  if (network == "tiramisu") return {.f32 = 20, .bf16 = 9.1};
  return {.f32 = 6.8, .bf16 = 3.8};
}

class SegmentTask : public train::Task {
 public:
  explicit SegmentTask(const Options& options)
      : options_(options),
        grid_{static_cast<int>(options.integer("rows")),
              static_cast<int>(options.integer("rows") * 3 / 2)},
        network_(network_of(options, grid_)) {
    if (grid_.rows % 16 != 0)
      throw ConfigError("DDL-1-96", "`rows` must be a multiple of 16: the network halves it.");
    weights_.fill(1);
  }

  torch::nn::Module& model() override { return *network_; }
  bool casts_itself() const override { return true; }
  double flops_per_sample() const override { return train_flops(network_->layers()); }
  double bytes_per_sample() const override {
    return value_bytes(options_.text("network")).at(train::compute_type(options_)) *
           output_values(network_->layers());
  }

  void prepare(Communicator& communicator) override {
    fs::path folder = options_.text("data");
    std::string val = "val";
    if (folder.empty()) {
      const FramePlan plan{grid_, options_.integer("train_frames"), options_.integer("test_frames"),
                           options_.integer("val_frames")};
      val = train::val_prefix(plan.val);
      folder = make_data(fmt::format("climate-segment-{}", grid_.rows), "weather", communicator,
                         [&](const fs::path& target, int rank, int ranks, const auto& progress) {
                           generate(target, plan, rank, ranks, progress);
                         });
      train_count_ = plan.train;
      test_count_ = plan.test;
    }
    train_ = std::make_unique<FrameFiles>(folder, "train");
    test_ = std::make_unique<FrameFiles>(folder, "test");
    if (has_validation_files(folder, val) || fs::is_directory(folder / val))
      validation_ = std::make_unique<FrameFiles>(folder, val);
    check(*train_);
    check(*test_);
    if (validation_) check(*validation_);
    const ChannelScale scale = train_->scale();
    network_->set_scale(scale.mean, scale.spread);
    weights_ = class_weights(options_.text("weighting"), train_->frequencies());
  }

  // The folder may hold more of a larger plan.
  bool has_validation() const override { return validation_ != nullptr; }
  std::int64_t train_samples() const override { return limited(train_->size(), train_count_); }

  train::Batch load(std::span<const std::int64_t> indices) override {
    const auto count = static_cast<std::int64_t>(indices.size());
    torch::Tensor fields = torch::empty({count, grid_.rows, grid_.columns, kFields});
    torch::Tensor labels = torch::empty({count, grid_.rows, grid_.columns}, torch::kUInt8);
    for (std::size_t i = 0; i < indices.size(); ++i)
      train_->read(indices[i], {fields.data_ptr<float>() + i * values(), values()},
                   {labels.data_ptr<std::uint8_t>() + i * grid_.size(), grid_.size()});
    return {fields.permute({0, 3, 1, 2}), labels.to(torch::kInt64), {}};
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
    const std::int64_t all = samples_to_judge(*this, options_, limited(test_->size(), test_count_));
    Overlap to_labels, to_truth, labels_to_truth;
    for (std::int64_t i = communicator.rank(); i < all; i += communicator.size()) {
      const auto [fields, labels] = frame(*test_, i);
      const Classes found = find(fields), truth = test_->truth(i);
      to_labels.add(labels, found);
      tell_judged(i + 1, all);
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
    if (!test_->has_truth()) return metrics;
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
    const FrameFiles files(file.parent_path(), file.filename().string());
    check(files);
    std::vector<std::vector<float>> rows;
    for (std::int64_t i = 0; i < files.size(); ++i) {
      const Classes found = find(frame(files, i).first);
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

  // The class of every pixel, as `labels` (N, rows, columns).
  bool predict_samples(const fs::path& file, const fs::path& output) override {
    const FrameFiles files(file.parent_path(), file.filename().string());
    check(files);
    train::H5File out(output, train::H5File::Mode::kCreate);
    for (std::int64_t i = 0; i < files.size(); ++i) {
      const Classes found = find(frame(files, i).first);
      out.append("labels", std::vector<std::int64_t>{grid_.rows, grid_.columns},
                 std::vector<float>(found.begin(), found.end()));
    }
    out.close();
    return true;
  }

  // Takes fields in their units; gives the share of each class per pixel.
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
    if (!test_->has_truth()) return text;
    return text + fmt::format(
                      "With the storms as they were put into the fields: network {:.1f} "
                      "(cyclones), {:.1f} (rivers); labels {:.1f}, {:.1f}.\n",
                      percent("truth_iou_cyclone"), percent("truth_iou_river"),
                      percent("labels_truth_iou_cyclone"), percent("labels_truth_iou_river"));
  }

 private:
  void swap_validation() override {
    std::swap(test_, validation_);
    std::swap(test_count_, validation_count_);
  }

  std::size_t values() const { return grid_.size() * kFields; }

  void check(const FrameFiles& files) const {
    if (files.grid().rows != grid_.rows || files.grid().columns != grid_.columns)
      throw IoError("DDL-7-80",
                    fmt::format("The files have {} rows and {} columns. Set rows={}.",
                                files.grid().rows, files.grid().columns, files.grid().rows));
  }

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
    const auto [fields, labels] = frame(*test_, 0);
    const Classes found = find(fields);
    const torch::Tensor moisture = fields[0].select(2, climate::kTMQ).contiguous();
    const std::span<const float> field(moisture.data_ptr<float>(), grid_.size());
    const std::vector<climate::MapPanel> panels = {
        {"Water in the air, and the labels", field, labels, {}},
        {"What the network finds", field, found, {}}};
    const std::vector<climate::Legend> legend = {
        {climate::kCyclone, climate::class_names()[climate::kCyclone]},
        {climate::kRiver, climate::class_names()[climate::kRiver]}};
    runs::write_text(folder / "masks.svg", map_svg(grid_, panels, legend));
  }

  const Options& options_;
  const Grid grid_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<FrameFiles> train_, test_;
  std::unique_ptr<FrameFiles> validation_;                                // where the data has it
  std::int64_t train_count_ = 0, test_count_ = 0, validation_count_ = 0;  // 0: all files
  std::array<float, kClasses> weights_;
};

}  // namespace

std::unique_ptr<train::Task> make_task(const Options& options) {
  return std::make_unique<SegmentTask>(options);
}

}  // namespace tutti::models::climate_segment
