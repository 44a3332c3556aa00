#include "tutti/models/vision/resnet/case.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include "tutti/models/nets/case_task.h"
#include "tutti/models/vision/resnet/images.h"
#include "tutti/models/vision/resnet/metric.h"
#include "tutti/models/vision/resnet/model.h"
#include "tutti/runs/training_log.h"
#include "tutti/train/process_setup.h"

namespace tutti::models::resnet {
namespace {

namespace fs = std::filesystem;
using comm::Communicator;

constexpr int kLargeImage = 128;  // from this size on, `auto` selects the large stem

NetworkShape shape_of(const Options& options) {
  NetworkShape shape;
  shape.depth = static_cast<int>(options.integer("depth"));
  shape.image = static_cast<int>(options.integer("image"));
  shape.classes = static_cast<int>(options.integer("classes"));
  const std::string& stem = options.text("stem");
  shape.has_large_stem = stem == "auto" ? shape.image >= kLargeImage : stem == "large";
  return shape;
}

constexpr ValueBytes kValueBytes{.f32 = 5.2, .bf16 = 2.8};

class ResnetTask : public CaseTask<ImageSet, Network> {
 public:
  explicit ResnetTask(const Options& options)
      : CaseTask(options, std::make_shared<Network>(shape_of(options), seed_of(options),
                                                    train::compute_type(options))),
        shape_(shape_of(options)) {}

  double flops_per_sample() const override { return train_flops(network_->layers()); }
  double bytes_per_sample() const override {
    return kValueBytes.at(train::compute_type(options_)) * output_values(network_->layers());
  }

  train::Batch load(std::span<const std::int64_t> indices) override {
    return batch_of(train_set(), indices, options_.flag("augment"));
  }

  train::Batch random_batch(std::int64_t count) override {
    return {(torch::rand({count, shape_.image, shape_.image, 3}) * 255).permute({0, 3, 1, 2}),
            torch::randint(shape_.classes, {count}, torch::kInt64),
            {}};
  }

  torch::Tensor loss(const train::Batch& batch, std::uint64_t) override {
    return torch::cross_entropy_loss(network_->forward(batch.input), batch.target);
  }

  std::vector<train::Layer> layers() override { return network_->parts(); }
  torch::Tensor layers_loss(const torch::Tensor& output, const train::Batch& batch) override {
    return torch::cross_entropy_loss(output, batch.target);
  }

  train::Metrics evaluate(Communicator& communicator, const fs::path& folder) override {
    average_buffers(*network_, communicator);
    Confusion confusion(shape_.classes);
    for_eval_batches(
        communicator, eval_batch(shape_.image),
        [&](std::int64_t first, std::span<const std::int64_t> indices) {
          const torch::Tensor scores = network_->forward(batch_of(eval_set(), indices).input),
                              best = std::get<1>(scores.topk(std::min(5, shape_.classes)));
          for (std::int64_t i = 0; i < best.size(0); ++i)
            confusion.add(eval_set().labels()[static_cast<std::size_t>(first + i)],
                          std::span(best[i].data_ptr<std::int64_t>(), best.size(1)));
        });
    communicator.all_reduce(Buffer::of(confusion.counts()), ReduceOp::kSum, {.name = "counts"});
    if (!folder.empty()) {
      const bool is_ours = options_.text("data").empty();
      runs::write_text(folder / "classes.svg", class_plot(confusion, is_ours));
    }
    return {{"top1", confusion.top1()},
            {"top1_error", confusion.top1_error()},
            {"top5", confusion.top5()}};
  }

  std::vector<std::string> prediction_names() const override {
    std::vector<std::string> names;
    for (int i = 0; i < shape_.classes; ++i) names.push_back(fmt::format("class{}", i));
    return names;
  }

  std::vector<std::vector<float>> predict(const fs::path& file) override {
    ImageSet images = read_images(file.parent_path(), file.filename().string());
    std::vector<std::vector<float>> rows;
    for_batches(
        images.size(), eval_batch(shape_.image), 0, 1,
        [&](std::int64_t, std::span<const std::int64_t> indices) {
          const torch::Tensor shares =
              torch::softmax(network_->forward(batch_of(images, indices).input), 1).contiguous();
          for (std::int64_t i = 0; i < shares.size(0); ++i)
            rows.emplace_back(shares[i].data_ptr<float>(),
                              shares[i].data_ptr<float>() + shares.size(1));
        });
    return rows;
  }

  void export_script(std::ostream& out) override {
    export_traced(
        *network_, [&](const torch::Tensor& x) { return torch::softmax(network_->forward(x), 1); },
        torch::zeros({1, 3, shape_.image, shape_.image}), out);
  }

  std::string verdict(const train::Metrics& metrics) const override {
    return fmt::format("Accuracy on the test set: {:.1f} ± {:.1f} %; chance: {:.1f} %.\n",
                       100 * value_of(metrics, "top1"), 100 * value_of(metrics, "top1_error"),
                       100.0 / shape_.classes);
  }

 private:
  GeneratedData generated() const override {
    const auto [train, test, val] = split_sizes(options_, "images");
    return {.name = fmt::format("shapes-{}-{}-{}-{}", shape_.image, shape_.classes, train, test),
            .what = "images",
            .val = val,
            .generate =
                generator(generate, image_plan(train, test, val, shape_.image, shape_.classes))};
  }

  std::unique_ptr<ImageSet> open(const fs::path& folder, const std::string& name,
                                 train::SampleCacheBudget* cache) const override {
    auto images = std::make_unique<ImageSet>(read_images(folder, name, cache));
    check_labels(*images, shape_.classes);
    return images;
  }

  void on_data_ready(Communicator&) override {
    const ChannelScale scale = scale_of(train_set());
    network_->set_scale(scale.mean, scale.deviation);
  }

  train::Batch batch_of(ImageSet& set, std::span<const std::int64_t> indices) override {
    return batch_of(set, indices, false);
  }
  static train::Batch batch_of(ImageSet& set, std::span<const std::int64_t> indices,
                               bool augments) {
    const auto count = static_cast<std::int64_t>(indices.size());
    torch::Tensor pixels = torch::empty({count, set.side(), set.side(), 3});
    fill_batch(set, indices, augments, pixels.data_ptr<float>());
    torch::Tensor labels = torch::empty({count}, torch::kInt64);
    for (std::int64_t i = 0; i < count; ++i)
      labels.data_ptr<std::int64_t>()[i] =
          set.labels()[static_cast<std::size_t>(indices[static_cast<std::size_t>(i)])];
    return {pixels.permute({0, 3, 1, 2}), labels, {}};
  }

  const NetworkShape shape_;
};

}  // namespace

std::unique_ptr<train::Task> make_task(const Options& options) {
  return std::make_unique<ResnetTask>(options);
}

}  // namespace tutti::models::resnet
