#include "tutti/models/science/climate_detect/case.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include "tutti/core/error.h"
#include "tutti/core/random.h"
#include "tutti/models/nets/case_task.h"
#include "tutti/models/science/climate/map_chart.h"
#include "tutti/models/science/climate_detect/frames.h"
#include "tutti/models/science/climate_detect/model.h"
#include "tutti/runs/training_log.h"
#include "tutti/train/process_setup.h"

namespace tutti::models::climate_detect {
namespace {

namespace fs = std::filesystem;
using climate::kFields;
using comm::Communicator;

constexpr float kLeastScore = 0.02f;  // boxes below it do not change the average precision
constexpr int kNumbersPerBox = 6;     // of a detection or a label in messages between ranks

NetworkShape shape_of(const Options& options) {
  NetworkShape shape;
  shape.height = static_cast<int>(options.integer("rows"));
  shape.width = static_cast<int>(options.integer("columns"));
  shape.filters.resize(static_cast<std::size_t>(options.integer("halvings")));
  auto scaled = [&](int filters) {
    return std::max(4, static_cast<int>(std::lround(filters * options.number("width"))));
  };
  for (int& filters : shape.filters) filters = scaled(filters);
  // With fewer stages, the code layer is as wide as the next stage would be.
  const std::vector<int> published = {256, 512, 768, 1024, 1280};
  shape.code = scaled(published[shape.filters.size() - 1]);
  if (shape.height % shape.cell() != 0 || shape.width % shape.cell() != 0)
    throw ConfigError("DDL-1-97",
                      fmt::format("`rows` and `columns` must be multiples of {}, because the "
                                  "network halves them `halvings` + 1 times.",
                                  shape.cell()));
  return shape;
}

// Peak memory of a step relative to the outputs of the layers; measured.
constexpr double kCopies = 2.5;

class DetectTask : public CaseTask<FrameFiles, Network> {
 public:
  explicit DetectTask(const Options& options)
      : CaseTask(options, std::make_shared<Network>(shape_of(options), seed_of(options),
                                                    train::compute_type(options))),
        shape_(shape_of(options)),
        weight_(options.number("reconstruction")) {}

  double flops_per_sample() const override {
    std::vector<Layer> used;
    for (const Layer& layer : network_->layers())
      if (weight_ > 0 || !layer.name.starts_with("draw")) used.push_back(layer);
    return train_flops(used);
  }
  double bytes_per_sample() const override {
    return 4 * kCopies * output_values(network_->layers());
  }

  train::Batch random_batch(std::int64_t count) override {
    train::Batch batch = blank(count);
    batch.input = torch::randn_like(batch.input).contiguous(at::MemoryFormat::ChannelsLast);
    batch.more[0].bernoulli_(0.05);
    batch.more[2].fill_(1);
    return batch;
  }

  torch::Tensor loss(const train::Batch& batch, std::uint64_t) override {
    const DetectorTargets targets{batch.target, batch.more[0], batch.more[1], batch.more[2]};
    return loss_of(network_->forward(batch.input, weight_ > 0), targets, weight_);
  }

  train::Metrics evaluate(Communicator& communicator, const fs::path& folder) override {
    average_buffers(*network_, communicator);
    const std::vector<Scene> scenes = find_all(communicator);
    if (!folder.empty()) draw(folder, scenes);
    train::Metrics metrics = {{"map_10", mean_average_precision(scenes, 0.1)},
                              {"map_50", mean_average_precision(scenes, 0.5)}};
    const char* names[] = {"depression", "cyclone", "extratropical", "river"};
    for (int kind = 0; kind < kKinds; ++kind)
      metrics.emplace_back(fmt::format("ap_10_{}", names[kind]),
                           std::max(0.0, average_precision(scenes, kind, 0.1)));
    return metrics;
  }

  // The most confident box of each kind; 0 and an empty box if none is above `confidence`.
  std::vector<std::string> prediction_names() const override {
    std::vector<std::string> names;
    for (const char* kind : {"depression", "cyclone", "extratropical", "river"})
      for (const char* what : {"boxes", "score", "ymin", "xmin", "ymax", "xmax"})
        names.push_back(fmt::format("{}_{}", kind, what));
    return names;
  }

  std::vector<std::vector<float>> predict(const fs::path& file) override {
    const std::unique_ptr<FrameFiles> files = open_file(file);
    std::vector<std::vector<float>> table;
    for (std::int64_t i = 0; i < files->size(); ++i) {
      std::vector<float> row(kKinds * kNumbersPerBox);
      for (const Detection& one : find(*files, i)) {
        float* cells = row.data() + one.kind * kNumbersPerBox;
        if (one.score < options_.number("confidence")) continue;
        cells[0] += 1;
        if (one.score <= cells[1]) continue;
        const Box& b = one.box;
        const float numbers[] = {one.score, float(b.row_min), float(b.column_min), float(b.row_max),
                                 float(b.column_max)};
        std::copy(std::begin(numbers), std::end(numbers), cells + 1);
      }
      table.push_back(row);
    }
    return table;
  }

  // Input: fields in their units. Output (N, 4 + 2 + kinds, rows, columns): boxes, storm or not, kinds.
  void export_script(std::ostream& out) override {
    export_traced(
        *network_,
        [&](const torch::Tensor& x) {
          const DetectorOutput output = network_->forward(x, false);
          return torch::cat(
              {output.boxes, torch::softmax(output.has_storm, 1), torch::softmax(output.kind, 1)},
              1);
        },
        torch::zeros({1, kFields, shape_.height, shape_.width}), out);
  }

  std::string verdict(const train::Metrics& metrics) const override {
    auto percent = [&](const char* name) { return 100 * value_of(metrics, name); };
    return fmt::format(
        "labels     reconstruction  mAP at 0.1  mAP at 0.5  depressions  cyclones  extratropical  "
        "rivers\n"
        "{:>5.1f} %    {:>14}  {:>8.1f} %  {:>8.1f} %  {:>11.1f}  {:>8.1f}  {:>13.1f}  {:>6.1f}\n",
        100 * options_.number("labelled"), weight_ > 0 ? "with" : "without", percent("map_10"),
        percent("map_50"), percent("ap_10_depression"), percent("ap_10_cyclone"),
        percent("ap_10_extratropical"), percent("ap_10_river"));
  }

 private:
  GeneratedData generated() const override {
    const auto [train, test, val] = split_sizes(options_, "frames");
    return {
        .name = fmt::format("climate-detect-{}x{}-{}-{}", shape_.height, shape_.width, train, test),
        .what = "weather",
        .val = val,
        .generate = generator(generate, FramePlan{shape_.height, shape_.width, train, test, val})};
  }

  std::unique_ptr<FrameFiles> open(const fs::path& folder, const std::string& name,
                                   train::SampleCacheBudget*) const override {
    auto files = std::make_unique<FrameFiles>(folder, name);
    if (files->rows() != shape_.height || files->columns() != shape_.width)
      throw IoError("DDL-7-83", fmt::format("The files have {0} rows and {1} columns. Set rows={0} "
                                            "and columns={1}.",
                                            files->rows(), files->columns()));
    return files;
  }

  void on_data_ready(Communicator&) override {
    std::vector<float> mean(kFields), deviation(kFields);
    train_set().scale(mean, deviation);
    network_->set_scale(mean, deviation);
  }

  train::Batch batch_of(FrameFiles& files, std::span<const std::int64_t> indices) override {
    const auto count = static_cast<std::int64_t>(indices.size());
    train::Batch batch = blank(count);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t index = indices[static_cast<std::size_t>(i)];
      files.image(index, {batch.input.data_ptr<float>() + i * values(), std::size_t(values())});
      const Targets targets = encode(files.boxes(index), rows(), columns(), shape_.cell());
      put(targets.boxes, batch.target[i]);
      put(targets.has_storm, batch.more[0][i]);
      put(targets.kind, batch.more[1][i]);
      batch.more[2][i] = is_labelled(index) ? 1.f : 0.f;
    }
    batch.input = batch.input.contiguous(at::MemoryFormat::ChannelsLast);
    return batch;
  }

  int rows() const { return shape_.height / shape_.cell(); }
  int columns() const { return shape_.width / shape_.cell(); }
  std::int64_t values() const { return std::int64_t{kFields} * shape_.height * shape_.width; }

  // Independent of the seed and of the number of ranks.
  bool is_labelled(std::int64_t index) const {
    return Random(mixed_seed(7, static_cast<std::uint64_t>(index))).uniform() <
           options_.number("labelled");
  }

  train::Batch blank(std::int64_t count) const {
    return {torch::empty({count, kFields, shape_.height, shape_.width}),
            torch::zeros({count, 4, rows(), columns()}),
            {torch::zeros({count, rows(), columns()}),
             torch::zeros({count, rows(), columns()}, torch::kInt64), torch::zeros({count})}};
  }

  template <class T>
  static void put(const std::vector<T>& values, torch::Tensor to) {
    std::copy(values.begin(), values.end(), to.data_ptr<T>());
  }

  std::vector<Detection> find(const FrameFiles& files, std::int64_t index) {
    torch::Tensor fields = torch::empty({1, kFields, shape_.height, shape_.width});
    files.image(index, {fields.data_ptr<float>(), std::size_t(values())});
    const DetectorOutput output = network_->forward(fields, false);
    const torch::Tensor boxes = output.boxes[0].contiguous(),
                        sure = torch::softmax(output.has_storm, 1)[0][0].contiguous(),
                        kind = torch::softmax(output.kind, 1)[0].contiguous();
    const auto at = boxes.accessor<float, 3>(), of = kind.accessor<float, 3>();
    const auto confidence = sure.accessor<float, 2>();
    std::vector<Detection> found;
    for (int row = 0; row < rows(); ++row)
      for (int column = 0; column < columns(); ++column)
        for (int k = 0; k < kKinds; ++k) {
          const float score = confidence[row][column] * of[k][row][column];
          if (score < kLeastScore) continue;
          const float numbers[] = {at[0][row][column], at[1][row][column], at[2][row][column],
                                   at[3][row][column]};
          found.push_back({decode(row, column, numbers, shape_.cell()), k, score});
        }
    return found;
  }

  // The frames are divided among the ranks; all return all detections.
  std::vector<Scene> find_all(Communicator& communicator) {
    const std::int64_t all = eval_count();
    const std::size_t most = static_cast<std::size_t>(rows() * columns()) * kKinds;
    std::vector<float> numbers(static_cast<std::size_t>(all) * most * kNumbersPerBox);
    for (std::int64_t i = communicator.rank(); i < all; i += communicator.size()) {
      float* out = numbers.data() + static_cast<std::size_t>(i) * most * kNumbersPerBox;
      for (const Detection& one : find(eval_set(), i)) {
        const Box& b = one.box;
        const float row[] = {one.score,           float(one.kind),  float(b.row_min),
                             float(b.column_min), float(b.row_max), float(b.column_max)};
        out = std::copy(std::begin(row), std::end(row), out);
      }
      report_evaluated(i + 1, all);
    }
    communicator.all_reduce(Buffer::of(std::span(numbers)), ReduceOp::kSum, {.name = "boxes"});
    std::vector<Scene> scenes;
    for (std::int64_t i = 0; i < all; ++i) {
      scenes.push_back({eval_set().boxes(i), {}});
      const float* v = numbers.data() + static_cast<std::size_t>(i) * most * kNumbersPerBox;
      for (std::size_t k = 0; k < most && v[0] > 0; ++k, v += kNumbersPerBox)
        scenes.back().found.push_back({{v[2], v[3], v[4], v[5]}, static_cast<int>(v[1]), v[0]});
    }
    return scenes;
  }

  void draw(const fs::path& folder, std::span<const Scene> scenes) const {
    std::vector<float> image(static_cast<std::size_t>(values()));
    eval_set().image(0, image);
    const climate::Grid grid{shape_.height, shape_.width};
    std::size_t moisture = 0;
    while (file_order()[moisture] != climate::kTMQ) ++moisture;
    const std::span<const float> field(image.data() + moisture * grid.size(), grid.size());
    climate::MapPanel truth{"Water vapour and true storms", field, {}, {}},
        found{"", field, {}, {}};
    std::vector<climate::Legend> legend;
    for (int kind = 0; kind < kKinds; ++kind)
      legend.push_back({kind + 1, climate::storm_names()[static_cast<std::size_t>(kind)]});
    for (const Labelled& one : scenes[0].truth)
      truth.boxes.push_back({one.box, one.kind + 1, "", false});
    for (const Detection& one : scenes[0].found)
      if (one.score >= options_.number("confidence"))
        found.boxes.push_back({one.box, one.kind + 1, fmt::format("{:.2f}", one.score), false});
    found.title = fmt::format("Boxes predicted with a confidence of at least {}: {}",
                              options_.text("confidence"), found.boxes.size());
    const std::vector<climate::MapPanel> panels = {truth, found};
    runs::write_text(folder / "boxes.svg", map_svg(grid, panels, legend));
  }

  const NetworkShape shape_;
  const double weight_;
};

}  // namespace

std::unique_ptr<train::Task> make_task(const Options& options) {
  return std::make_unique<DetectTask>(options);
}

}  // namespace tutti::models::climate_detect
