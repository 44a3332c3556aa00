#include "tutti/models/science/hep/task.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include "tutti/models/nets/task_parts.h"
#include "tutti/models/science/hep/events.h"
#include "tutti/models/science/hep/generate.h"
#include "tutti/models/science/hep/metric.h"
#include "tutti/models/science/hep/model.h"
#include "tutti/runs/training_log.h"
#include "tutti/train/engine.h"

namespace tutti::models::hep {
namespace {

namespace fs = std::filesystem;
using comm::Communicator;

constexpr ValueBytes kValueBytes{.f32 = 4.4, .bf16 = 4.1};

class HepTask : public train::Task {
 public:
  explicit HepTask(const Options& options)
      : options_(options), dtype_(train::compute_type(options)) {
    shape_.image = static_cast<int>(options.integer("image"));
    shape_.filters = static_cast<int>(options.integer("filters"));
    shape_.dropout = options.number("dropout");
    layers_ = hep::layers(shape_);
    network_ = std::make_shared<Network>(
        shape_, static_cast<std::uint64_t>(options.integer("seed")), dtype_);
  }

  torch::nn::Module& model() override { return *network_; }
  bool casts_itself() const override { return true; }
  double flops_per_sample() const override { return train_flops(layers_); }
  double bytes_per_sample() const override {
    return kValueBytes.at(dtype_) * output_values(layers_);
  }

  void prepare(Communicator& communicator) override {
    fs::path folder = options_.text("data");
    std::string val = "val";
    if (folder.empty()) {
      const DataPlan plan =
          data_plan(options_.integer("train_events"), options_.integer("test_events"),
                    options_.integer("val_events"), shape_.image);
      val = train::val_prefix(plan.val_events);
      folder =
          make_data(fmt::format("hep-v2-{}-{}-{}", shape_.image, options_.integer("train_events"),
                                options_.integer("test_events")),
                    "events", communicator,
                    [&](const fs::path& target, int rank, int ranks, const auto& progress) {
                      generate(target, plan, rank, ranks, progress);
                    });
    }
    keep_.emplace(keep_bytes(options_, communicator));
    train_ = std::make_unique<EventFiles>(folder, "train", &*keep_);
    test_ = std::make_unique<EventFiles>(folder, "test", &*keep_);
    if (has_validation_files(folder, val))
      validation_ = std::make_unique<EventFiles>(folder, val, &*keep_);
  }

  bool has_validation() const override { return validation_ != nullptr; }
  std::int64_t train_samples() const override { return train_->size(); }

  train::Batch load(std::span<const std::int64_t> indices) override {
    return batch_of(*train_, indices);
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
    const Verdict verdict = judge(events);
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
    EventFiles files(file.parent_path(), file.filename().string());
    std::vector<std::vector<float>> rows;
    for (float score : scores_of(files, 0, 1, files.size())) rows.push_back({score});
    return rows;
  }

  void export_script(std::ostream& out) override { network_->export_script(out); }

  std::string verdict(const train::Metrics& metrics) const override {
    auto value = [&](const char* name) { return value_of(metrics, name); };
    // A false rate that is known to half of itself stands on about four events.
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
                 : "So few background events pass the cuts that this says little: take more.\n");
  }

 private:
  void swap_validation() override { std::swap(test_, validation_); }

  train::Batch batch_of(EventFiles& files, std::span<const std::int64_t> indices) const {
    const auto count = static_cast<std::int64_t>(indices.size());
    torch::Tensor pixels = torch::empty({count, files.image_size(), files.image_size(), 3});
    files.pictures(indices, pixels.data_ptr<float>());
    torch::Tensor labels = torch::empty({count}, torch::kInt64);
    for (std::int64_t i = 0; i < count; ++i)
      labels[i] = static_cast<std::int64_t>(files.info(indices[static_cast<std::size_t>(i)]).label);
    return {pixels.to(dtype_).permute({0, 3, 1, 2}), labels, {}};
  }

  // Of every `parts`-th batch from `part` on; zeros elsewhere.
  std::vector<float> scores_of(EventFiles& files, int part, int parts, std::int64_t count) {
    std::vector<float> scores(static_cast<std::size_t>(count));
    for_batches(count, pictures_to_judge(shape_.image), part, parts,
                [&](std::int64_t first, std::span<const std::int64_t> indices) {
                  const torch::Tensor out =
                      torch::softmax(network_->forward(batch_of(files, indices).input), 1)
                          .select(1, 1)
                          .contiguous();
                  std::copy_n(out.data_ptr<float>(), indices.size(), scores.begin() + first);
                  tell_judged(first + std::int64_t(indices.size()), count);
                });
    return scores;
  }

  // Every rank scores its part of the test events; all get all.
  std::vector<Scored> scores(Communicator& communicator) {
    const std::int64_t all = samples_to_judge(*this, options_, test_->size());
    std::vector<float> score = scores_of(*test_, communicator.rank(), communicator.size(), all);
    communicator.all_reduce(Buffer::of(std::span(score)), ReduceOp::kSum, {.name = "scores"});
    std::vector<Scored> events;
    for (std::int64_t i = 0; i < all; ++i) {
      const EventInfo& info = test_->info(i);
      events.push_back({score[static_cast<std::size_t>(i)], info.weight, info.label > 0.5f,
                        info.passes_cuts > 0.5f});
    }
    return events;
  }

  const Options& options_;
  const torch::ScalarType dtype_;
  NetworkShape shape_;
  std::vector<Layer> layers_;
  std::shared_ptr<Network> network_;
  std::optional<train::KeepBudget> keep_;
  std::unique_ptr<EventFiles> train_, test_;
  std::unique_ptr<EventFiles> validation_;  // where the data has it
};

}  // namespace

std::unique_ptr<train::Task> make_task(const Options& options) {
  return std::make_unique<HepTask>(options);
}

}  // namespace tutti::models::hep
