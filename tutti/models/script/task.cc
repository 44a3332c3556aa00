#include "tutti/models/script/task.h"

#include <fmt/format.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "tutti/core/error.h"
#include "tutti/models/nets/layer_stack.h"
#include "tutti/models/nets/task_parts.h"
#include "tutti/models/script/rows.h"

namespace tutti::models::script {
namespace {

namespace fs = std::filesystem;
using comm::Communicator;

std::string plain_name(std::string name) {
  std::replace(name.begin(), name.end(), '.', '/');  // libtorch has no dots in names of parameters
  return name;
}

// The parameters and buffers of the script under the eyes of the trainer; they stay the same
// tensors.
class ScriptNetwork : public torch::nn::Module {
 public:
  explicit ScriptNetwork(torch::jit::Module script) : script_(std::move(script)) {
    for (const auto& item : script_.named_parameters())
      register_parameter(plain_name(item.name), item.value, item.value.requires_grad());
    for (const auto& item : script_.named_buffers())
      register_buffer(plain_name(item.name), item.value);
  }
  void train(bool on) override {
    torch::nn::Module::train(on);
    script_.train(on);
  }
  torch::Tensor forward(const torch::Tensor& input) { return script_.forward({input}).toTensor(); }
  void save(const fs::path& file) const { script_.save(file.string()); }

 private:
  torch::jit::Module script_;
};

torch::jit::Module load_script(const std::string& file) {
  if (file.empty())
    throw ConfigError("DDL-1-89", "No network was named. Give a TorchScript file: --model file.pt");
  if (!fs::exists(file)) throw IoError("DDL-7-90", fmt::format("There is no file {}.", file));
  // What libtorch makes of a script after its first calls differs in the last bits, and a resumed
  // run would too.
  torch::jit::setGraphExecutorOptimize(false);
  try {
    return torch::jit::load(file);
  } catch (const c10::Error& error) {
    throw IoError("DDL-7-90", fmt::format("Cannot read {} as TorchScript ({}). In Python: "
                                          "torch.jit.script(network).save('file.pt').",
                                          file, error.what_without_backtrace()));
  }
}

class ScriptTask : public train::Task {
 public:
  explicit ScriptTask(const Options& options)
      : options_(options),
        loss_(options.text("loss")),
        network_(std::make_shared<ScriptNetwork>(load_script(options.text("model")))) {}

  torch::nn::Module& model() override { return *network_; }
  double flops_per_sample() const override { return options_.number("flops"); }

  void prepare(Communicator& communicator) override {
    if (options_.text("data").empty())
      throw ConfigError("DDL-1-72",
                        "No data was named. Set `data` to a folder with train*.h5 and test*.h5.");
    keep_.emplace(keep_bytes(options_, communicator));
    const auto files = [&](const char* prefix) {
      return std::make_unique<RowFiles>(options_.text("data"), prefix, options_.text("input"),
                                        options_.text("target"), &*keep_);
    };
    train_ = files("train");
    test_ = files("test");
    if (has_validation_files(options_.text("data"), "val")) validation_ = files("val");
  }
  bool has_validation() const override { return validation_ != nullptr; }
  std::int64_t train_samples() const override { return train_->size(); }
  train::Batch load(std::span<const std::int64_t> indices) override {
    return batch_of(*train_, indices, true);
  }
  train::Batch random_batch(std::int64_t count) override {
    if (!train_)
      throw ConfigError("DDL-1-91",
                        "The speed of a script is measured by training it: tutti train.");
    std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) rows[static_cast<std::size_t>(i)] = i % train_->size();
    return load(rows);
  }

  torch::Tensor loss(const train::Batch& batch, std::uint64_t seed) override {
    torch::manual_seed(seed);  // for dropout of the script
    return loss_of(network_->forward(batch.input).to(torch::kFloat32), batch.target);
  }

  train::Metrics evaluate(Communicator& communicator, const fs::path&) override {
    average_buffers(*network_, communicator);
    // Sums over the samples: losses, right ones, count; then of the targets and their squares.
    std::vector<double> sums(6);
    each_batch(communicator, [&](const train::Batch& batch, const torch::Tensor& out) {
      const auto count = static_cast<double>(batch.input.size(0));
      sums[0] += count * loss_of(out, batch.target).item<double>();
      sums[1] += count;
      if (loss_ == "cross_entropy") {
        sums[2] += (out.argmax(1) == batch.target).sum().item<double>();
      } else if (loss_ == "binary_cross_entropy") {
        sums[2] += count * ((out.reshape_as(batch.target) > 0) == (batch.target > 0.5))
                               .to(torch::kFloat64)
                               .mean()
                               .item<double>();
      } else {
        const torch::Tensor target = batch.target.to(torch::kFloat64);
        sums[2] += (out.reshape_as(target) - target).square().sum().item<double>();
        sums[3] += target.sum().item<double>();
        sums[4] += target.square().sum().item<double>();
        sums[5] += static_cast<double>(target.numel());
      }
    });
    communicator.all_reduce(Buffer::of(std::span(sums)), ReduceOp::kSum, {.name = "evaluation"});
    const double mean_loss = sums[0] / sums[1];
    if (sums[5] == 0) return {{"accuracy", sums[2] / sums[1]}, {"loss", mean_loss}};
    const double spread = sums[4] - sums[3] * sums[3] / sums[5];
    return {{"explained", 1 - sums[2] / std::max(spread, 1e-30)}, {"loss", mean_loss}};
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

  void export_script(const fs::path& file) override { network_->save(file); }

  std::string verdict(const train::Metrics& metrics) const override {
    std::string text = "On the test files:";
    for (const auto& [name, value] : metrics) text += fmt::format("  {} {:.4f}", name, value);
    return text + "\n";
  }

 private:
  void swap_validation() override { std::swap(test_, validation_); }

  torch::Tensor loss_of(const torch::Tensor& out, const torch::Tensor& target) const {
    if (loss_ == "cross_entropy") return torch::cross_entropy_loss(out, target);
    if (out.numel() != target.numel())
      throw ConfigError(
          "DDL-9-62",
          fmt::format(
              "The network gives ({}) for a batch whose targets are ({}). `loss` {} needs as "
              "many numbers of both; cross_entropy takes a class per sample.",
              fmt::join(out.sizes(), ", "), fmt::join(target.sizes(), ", "), loss_));
    const torch::Tensor shaped = out.reshape_as(target);
    if (loss_ == "binary_cross_entropy")
      return torch::binary_cross_entropy_with_logits(shaped, target);
    return loss_ == "mean_squared" ? torch::mse_loss(shaped, target)
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
    if (loss_ == "cross_entropy") target = target.to(torch::kInt64);
    return {input, target, {}};
  }

  // This rank's share of the test samples, with what the network makes of them.
  template <class Visit>
  void each_batch(Communicator& communicator, Visit visit) {
    const std::int64_t all = samples_to_judge(*this, options_, test_->size());
    for_batches(all, options_.integer("batch"), communicator.rank(), communicator.size(),
                [&](std::int64_t first, std::span<const std::int64_t> rows) {
                  const train::Batch samples = batch_of(*test_, rows, true);
                  visit(samples, network_->forward(samples.input).to(torch::kFloat32));
                  tell_judged(first + std::int64_t(rows.size()), all);
                });
  }

  const Options& options_;
  const std::string& loss_;
  std::shared_ptr<ScriptNetwork> network_;
  std::optional<train::KeepBudget> keep_;
  std::unique_ptr<RowFiles> train_, test_;
  std::unique_ptr<RowFiles> validation_;  // where the data has it
  std::int64_t outputs_ = 1;
};

}  // namespace

std::unique_ptr<train::Task> make_task(const Options& options) {
  return std::make_unique<ScriptTask>(options);
}

}  // namespace tutti::models::script
