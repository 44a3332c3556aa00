#include "tutti/models/script/case.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <array>

#include "tutti/core/error.h"
#include "tutti/models/nets/case_task.h"
#include "tutti/models/nets/layer_stack.h"
#include "tutti/models/script/network.h"
#include "tutti/models/script/rows.h"
#include "tutti/models/script/score.h"
#include "tutti/models/script/targets.h"

namespace tutti::models::script {
namespace {

namespace fs = std::filesystem;
using comm::Communicator;

constexpr std::array<std::int64_t, 1> kFirstRow = {0};

class ScriptTask : public CaseTask<RowFiles, ScriptNetwork> {
 public:
  explicit ScriptTask(const Options& options)
      : CaseTask(options, std::make_shared<ScriptNetwork>(options.text("model"))),
        loss_(options.choice<Loss>("loss")) {}

  bool casts_itself() const override { return false; }
  double flops_per_sample() const override { return options_.number("flops"); }

  train::Batch load(std::span<const std::int64_t> indices) override {
    return batch_of(train_set(), indices, true);
  }
  train::Batch random_batch(std::int64_t count) override {
    if (!has_data())
      throw ConfigError("DDL-1-91",
                        "The speed of a script is measured by training it: tutti train.");
    std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
      rows[static_cast<std::size_t>(i)] = i % train_set().size();
    return load(rows);
  }

  torch::Tensor loss(const train::Batch& batch, std::uint64_t seed) override {
    torch::manual_seed(seed);  // for dropout of the script
    return loss_of(network_->forward(batch.input).to(torch::kFloat32), batch.target);
  }

  train::Metrics evaluate(Communicator& communicator, const fs::path&) override {
    average_buffers(*network_, communicator);
    Score score(loss_, eval_set().target_count(), batch_of(eval_set(), kFirstRow, true).target);
    each_batch(communicator, [&](const train::Batch& batch, const torch::Tensor& out) {
      score.add(out, batch.target, loss_of(out, batch.target).item<double>());
    });
    return score.metrics(communicator);
  }

  std::vector<std::string> prediction_names() const override {
    std::vector<std::string> names;
    for (std::int64_t i = 0; i < outputs_; ++i) names.push_back(fmt::format("output{}", i));
    return names;
  }

  std::vector<std::vector<float>> predict(const fs::path& file) override {
    RowFiles rows(file, options_.text("input"));
    std::vector<std::vector<float>> all;
    for (std::int64_t row = 0; row < rows.size(); ++row) {
      const torch::Tensor out = network_->forward(batch_of(rows, {&row, 1}, false).input)
                                    .to(torch::kFloat32)
                                    .contiguous();
      outputs_ = out.numel();
      all.emplace_back(out.data_ptr<float>(), out.data_ptr<float>() + outputs_);
    }
    return all;
  }

  void export_script(std::ostream& out) override { network_->save(out); }

  std::string verdict(const train::Metrics& metrics) const override {
    std::string text = "On the test set:";
    for (const auto& [name, value] : metrics) text += fmt::format("  {} {:.4f}", name, value);
    return text + "\n";
  }

 private:
  GeneratedData generated() const override {
    throw ConfigError("DDL-1-72",
                      "No data. Set `data` to a directory with train*.h5 and test*.h5.");
  }
  std::unique_ptr<RowFiles> open(const fs::path& folder, const std::string& prefix,
                                 train::SampleCacheBudget* cache) const override {
    return std::make_unique<RowFiles>(folder, prefix, options_.text("input"),
                                      options_.text("target"), cache);
  }
  train::Batch batch_of(RowFiles& files, std::span<const std::int64_t> rows) override {
    return batch_of(files, rows, false);
  }

  // Runs two samples through the network, then checks the shapes and values of all inputs and targets, so that mistakes
  // are reported before hours of training.
  void on_data_ready(Communicator& communicator) override {
    RowFiles& train = train_set();
    const std::array<std::int64_t, 2> rows = {0, train.size() - 1};
    const train::Batch batch = batch_of(train, rows, false);
    const torch::Tensor output = network_->probe(
        batch.input,
        fmt::format("rows of data set '{}' of {}", train.input_name(), train.first_file()));
    if (output.dim() == 0 || output.size(0) != batch.input.size(0))
      throw ConfigError("DDL-9-62",
                        fmt::format("The network returns shape ({}) for a batch of 2 samples. The "
                                    "first dimension must be that of the batch.",
                                    fmt::join(output.sizes(), ", ")));
    const Expected expected = expected_target(loss_, output.sizes().slice(1).vec());
    for (RowFiles* files : {&train, &eval_set(), validation_set()}) {
      if (!files) continue;
      if (files->input_shape() != train.input_shape())
        throw IoError(
            "DDL-7-89",
            fmt::format("{}: rows of data set '{}' have shape {}, and in {} {}.",
                        files->first_file(), files->input_name(), shape_text(files->input_shape()),
                        train.first_file(), shape_text(train.input_shape())));
      check_target_shape(loss_, expected, *files);
      check_targets(communicator, *files, expected.classes);
      check_inputs(communicator, *files);
    }
  }

  // Rows are divided among the ranks; all throw the same error.
  void check_targets(Communicator& communicator, RowFiles& files, std::int64_t classes) const {
    const auto is_bad = [&](float value) { return !target_fault(loss_, classes, value).empty(); };
    const std::int64_t row = first_of_all(
        communicator, files.first_bad_target(communicator.rank(), communicator.size(), is_bad));
    if (row == files.size()) return;
    std::vector<float> values(static_cast<std::size_t>(files.target_count()));
    files.targets({&row, 1}, values.data());
    const float value = *std::find_if(values.begin(), values.end(), is_bad);
    const auto [file, row_in_file] = files.origin(row);
    throw IoError("DDL-9-69",
                  fmt::format("{}: row {} (from 0) of data set '{}' is {}. {} needs {}.", file,
                              row_in_file, files.target_name(), value,
                              kLossNames[std::size_t(loss_)], target_fault(loss_, classes, value)));
  }

  // If there are too many to read them twice, an invalid value is found when it is used.
  void check_inputs(Communicator& communicator, RowFiles& files) const {
    constexpr double kMostBytes = 4e9;
    if (4.0 * double(files.size()) * double(files.input_count()) > kMostBytes) return;
    const std::int64_t row =
        first_of_all(communicator, files.first_bad_input(communicator.rank(), communicator.size()));
    if (row == files.size()) return;
    std::vector<float> values(static_cast<std::size_t>(files.input_count()));
    files.inputs({&row, 1}, values.data());  // throws
  }

  static std::int64_t first_of_all(Communicator& communicator, std::int64_t row) {
    communicator.all_reduce(Buffer::of(std::span(&row, 1)), ReduceOp::kMin, {.name = "data check"});
    return row;
  }

  torch::Tensor loss_of(const torch::Tensor& out, const torch::Tensor& target) const {
    if (loss_ == Loss::kCrossEntropy) return torch::cross_entropy_loss(out, target);
    const torch::Tensor shaped = out.reshape_as(target);
    if (loss_ == Loss::kBinaryCrossEntropy)
      return torch::binary_cross_entropy_with_logits(shaped, target);
    return loss_ == Loss::kMeanSquared ? torch::mse_loss(shaped, target)
                                       : torch::l1_loss(shaped, target);
  }

  train::Batch batch_of(RowFiles& files, std::span<const std::int64_t> rows, bool has_target) {
    auto shape = [&](std::vector<std::int64_t> sizes) {
      sizes.insert(sizes.begin(), static_cast<std::int64_t>(rows.size()));
      return sizes;
    };
    torch::Tensor input = torch::empty(shape(files.input_shape()));
    files.inputs(rows, input.data_ptr<float>());
    if (input.dim() == 4 && options_.flag("channels_last"))
      input = input.contiguous(at::MemoryFormat::ChannelsLast);
    if (!has_target) return {input, {}, {}};
    torch::Tensor target = torch::empty(shape(files.target_shape()));
    files.targets(rows, target.data_ptr<float>());
    if (loss_ == Loss::kCrossEntropy) target = target.to(torch::kInt64);
    return {input, target, {}};
  }

  // Test samples of this rank, with the outputs of the network.
  template <class Visit>
  void each_batch(Communicator& communicator, Visit visit) {
    for_eval_batches(communicator, options_.integer("batch"),
                     [&](std::int64_t, std::span<const std::int64_t> rows) {
                       const train::Batch samples = batch_of(eval_set(), rows, true);
                       visit(samples, network_->forward(samples.input).to(torch::kFloat32));
                     });
  }

  const Loss loss_;
  std::int64_t outputs_ = 1;
};

}  // namespace

std::unique_ptr<train::Task> make_task(const Options& options) {
  return std::make_unique<ScriptTask>(options);
}

}  // namespace tutti::models::script
