#include "tutti/models/science/hep/case.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include "tutti/models/nets/case_task.h"
#include "tutti/models/science/hep/events.h"
#include "tutti/models/science/hep/generate.h"
#include "tutti/models/science/hep/metric.h"
#include "tutti/models/science/hep/model.h"
#include "tutti/runs/training_log.h"
#include "tutti/train/process_setup.h"

namespace tutti::models::hep {
namespace {

namespace fs = std::filesystem;
using comm::Communicator;

constexpr ValueBytes kValueBytes{.f32 = 4.4, .bf16 = 4.1};

NetworkShape shape_of(const Options& options) {
  NetworkShape shape;
  shape.image = static_cast<int>(options.integer("image"));
  shape.filters = static_cast<int>(options.integer("filters"));
  shape.dropout = options.number("dropout");
  return shape;
}

class HepTask : public CaseTask<EventFiles, Network> {
 public:
  explicit HepTask(const Options& options)
      : CaseTask(options, std::make_shared<Network>(shape_of(options), seed_of(options),
                                                    train::compute_type(options))),
        dtype_(train::compute_type(options)),
        shape_(shape_of(options)),
        layers_(hep::layers(shape_)) {}

  double flops_per_sample() const override { return train_flops(layers_); }
  double bytes_per_sample() const override {
    return kValueBytes.at(dtype_) * output_values(layers_);
  }

  train::Batch random_batch(std::int64_t count) override {
    const torch::Tensor pixels = torch::rand({count, shape_.image, shape_.image, 3});
    return {pixels.to(dtype_).permute({0, 3, 1, 2}), torch::randint(2, {count}, torch::kInt64), {}};
  }

  torch::Tensor loss(const train::Batch& batch, std::uint64_t seed) override {
    return torch::cross_entropy_loss(network_->forward(batch.input, seed), batch.target);
  }

  std::vector<train::Layer> layers() override {
    std::vector<train::Layer> all;
    for (int i = 0; i < network_->layers(); ++i)
      all.push_back({forward_flops({&layers_[static_cast<std::size_t>(i)], 1}), 2, 0,
                     [this, i](const torch::Tensor& input, std::uint64_t seed) {
                       return network_->forward_layer(i, input, seed);
                     }});
    return all;
  }
  torch::Tensor layers_loss(const torch::Tensor& output, const train::Batch& batch) override {
    return torch::cross_entropy_loss(output, batch.target);
  }

  train::Metrics evaluate(Communicator& communicator, const fs::path& folder) override {
    const std::vector<Scored> events = scores(communicator);
    const Verdict verdict = compare_with_cuts(events);
    if (!folder.empty()) {
      runs::write_text(folder / "roc.svg", plot::render_svg(roc_chart(events, verdict)));
      runs::write_text(folder / "score.svg", plot::render_svg(score_chart(events)));
    }
    return {{"ratio", verdict.ratio},
            {"ratio_error", verdict.ratio_error},
            {"network", verdict.network},
            {"network_error", verdict.network_error},
            {"cuts", verdict.cuts},
            {"cuts_error", verdict.cuts_error},
            {"false_rate", verdict.false_rate},
            {"false_rate_error", verdict.false_rate_error},
            {"area", verdict.area},
            {"network_at_1e-3", verdict.network_at_permille},
            {"network_at_1e-2", verdict.network_at_percent}};
  }

  std::vector<std::string> prediction_names() const override { return {"signal"}; }

  std::vector<std::vector<float>> predict(const fs::path& file) override {
    const std::unique_ptr<EventFiles> files = open_file(file);
    std::vector<std::vector<float>> rows;
    for_batches(files->size(), eval_batch(shape_.image), 0, 1,
                [&](std::int64_t, std::span<const std::int64_t> indices) {
                  const torch::Tensor scores = scores_of(*files, indices);
                  for (std::size_t i = 0; i < indices.size(); ++i)
                    rows.push_back({scores.data_ptr<float>()[i]});
                });
    return rows;
  }

  void export_script(std::ostream& out) override { network_->export_script(out); }

  std::string verdict(const train::Metrics& metrics) const override {
    auto value = [&](const char* name) { return value_of(metrics, name); };
    // A relative error of one half corresponds to about four events.
    const bool is_known = value("false_rate_error") < 0.5 * value("false_rate");
    return fmt::format(
        "The cuts keep {:.1f} ± {:.1f} % of the signal and ({:.2f} ± {:.2f})e-4 of the "
        "background.\n"
        "At the same background the network keeps {:.1f} ± {:.1f} % of the signal: {:.2f} ± {:.2f} "
        "times as much.\n{}",
        100 * value("cuts"), 100 * value("cuts_error"), 1e4 * value("false_rate"),
        1e4 * value("false_rate_error"), 100 * value("network"), 100 * value("network_error"),
        value("ratio"), value("ratio_error"),
        is_known ? ""
                 : "Few background events pass the cuts, so the uncertainty is large: use more "
                   "test events.\n");
  }

 private:
  GeneratedData generated() const override {
    const auto [train, test, val] = split_sizes(options_, "events");
    return {.name = fmt::format("hep-v2-{}-{}-{}", shape_.image, train, test),
            .what = "events",
            .val = val,
            .generate = generator(generate, data_plan(train, test, val, shape_.image))};
  }

  std::unique_ptr<EventFiles> open(const fs::path& folder, const std::string& prefix,
                                   train::SampleCacheBudget* cache) const override {
    return std::make_unique<EventFiles>(folder, prefix, cache);
  }

  train::Batch batch_of(EventFiles& files, std::span<const std::int64_t> indices) override {
    const auto count = static_cast<std::int64_t>(indices.size());
    torch::Tensor pixels = torch::empty({count, files.image_size(), files.image_size(), 3});
    files.read_images(indices, pixels.data_ptr<float>());
    torch::Tensor labels = torch::empty({count}, torch::kInt64);
    for (std::int64_t i = 0; i < count; ++i)
      labels[i] = static_cast<std::int64_t>(files.info(indices[static_cast<std::size_t>(i)]).label);
    return {pixels.to(dtype_).permute({0, 3, 1, 2}), labels, {}};
  }

  torch::Tensor scores_of(EventFiles& files, std::span<const std::int64_t> indices) {
    const torch::Tensor outputs = network_->forward(batch_of(files, indices).input);
    return torch::softmax(outputs, 1).select(1, 1).contiguous();
  }

  // Events are divided among the ranks; all return all scores.
  std::vector<Scored> scores(Communicator& communicator) {
    std::vector<float> score(static_cast<std::size_t>(eval_count()));
    for_eval_batches(communicator, eval_batch(shape_.image),
                     [&](std::int64_t first, std::span<const std::int64_t> indices) {
                       std::copy_n(scores_of(eval_set(), indices).data_ptr<float>(), indices.size(),
                                   score.begin() + first);
                     });
    communicator.all_reduce(Buffer::of(std::span(score)), ReduceOp::kSum, {.name = "scores"});
    std::vector<Scored> events;
    for (std::size_t i = 0; i < score.size(); ++i) {
      const EventInfo& info = eval_set().info(static_cast<std::int64_t>(i));
      events.push_back({score[i], info.weight, info.label > 0.5f, info.passes_cuts > 0.5f});
    }
    return events;
  }

  const torch::ScalarType dtype_;
  const NetworkShape shape_;
  const std::vector<Layer> layers_;
};

}  // namespace

std::unique_ptr<train::Task> make_task(const Options& options) {
  return std::make_unique<HepTask>(options);
}

}  // namespace tutti::models::hep
