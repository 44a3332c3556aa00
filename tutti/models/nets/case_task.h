// Base class of the tasks of all cases: files of training, test and validation samples, and their generation. A case
// adds its data set (`generated`, `open`, `batch_of`), its network, its loss and its metric.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "tutti/models/nets/task_parts.h"
#include "tutti/train/data/h5.h"
#include "tutti/train/data/sample_cache.h"

namespace tutti::models {

// `Samples` is a list of samples with size(); `Network` a torch::nn::Module.
template <class Samples, class Network>
class CaseTask : public train::Task {
 public:
  void prepare(comm::Communicator& communicator) final {
    const DataLocation data = locate_data(options_, communicator, [this] { return generated(); });
    cache_.emplace(cache_bytes(options_, communicator));
    train_ = open(data.folder, "train", &*cache_);
    const std::int64_t all = limited(train_->size(), data.train), held = held_out(all);
    train_samples_ = all - held;
    if (held > 0) {  // opened again, because a thread prefetches from the training files
      test_ = {open(data.folder, "train", &*cache_), train_samples_, held};
    } else {
      test_ = whole(open(data.folder, "test", &*cache_), data.test);
      if (has_samples(data.folder, data.val_prefix))
        validation_ = whole(open(data.folder, data.val_prefix, &*cache_), 0);
    }
    on_data_ready(communicator);
  }
  std::int64_t train_samples() const final { return train_samples_; }
  bool has_validation() const final { return validation_.samples != nullptr; }
  train::Batch load(std::span<const std::int64_t> indices) override {
    return batch_of(*train_, indices);
  }

  torch::nn::Module& model() final { return *network_; }
  bool casts_itself() const override { return true; }

 protected:
  CaseTask(const Options& options, std::shared_ptr<Network> network)
      : options_(options), network_(std::move(network)) {}

  // Data to generate if the option `data` is empty.
  virtual GeneratedData generated() const = 0;
  // Opens the samples of a split: `prefix` is "train", "test", "val" or the name of a file. Throws IoError if there are
  // none, or if they do not fit the network. The cache may be null.
  virtual std::unique_ptr<Samples> open(const std::filesystem::path& folder,
                                        const std::string& prefix,
                                        train::SampleCacheBudget* cache) const = 0;
  virtual bool has_samples(const std::filesystem::path& folder, const std::string& prefix) const {
    return !train::h5_files(folder, prefix).empty();
  }
  virtual train::Batch batch_of(Samples& samples, std::span<const std::int64_t> indices) = 0;
  // Training samples, the last ones, that are evaluated instead of the test samples.
  virtual std::int64_t held_out(std::int64_t) const { return 0; }
  // Called after all splits were opened. Collective.
  virtual void on_data_ready(comm::Communicator&) {}

  std::unique_ptr<Samples> open_file(const std::filesystem::path& file) const {
    return open(file.parent_path(), file.filename().string(), nullptr);
  }
  bool has_data() const { return train_ != nullptr; }
  Samples& train_set() { return *train_; }
  // The samples that `evaluate` uses: `eval_count` of them, from `eval_first` on.
  Samples& eval_set() const { return *test_.samples; }
  std::int64_t eval_first() const { return test_.first; }
  std::int64_t eval_count() const {
    return selects_weights() ? limited(test_.count, options_.integer("validation_samples"))
                             : test_.count;
  }
  Samples* validation_set() const { return validation_.samples.get(); }

  // Calls use(first, indices) for this rank's batches of [0, eval_count()), and reports progress.
  template <class Use>
  void for_eval_batches(const comm::Communicator& communicator, std::int64_t batch, Use use) {
    const std::int64_t all = eval_count();
    for_batches(all, batch, communicator.rank(), communicator.size(),
                [&](std::int64_t first, std::span<const std::int64_t> indices) {
                  use(first, indices);
                  report_evaluated(first + std::int64_t(indices.size()), all);
                });
  }

  const Options& options_;
  const std::shared_ptr<Network> network_;

 private:
  struct EvalSet {
    std::unique_ptr<Samples> samples;
    std::int64_t first = 0, count = 0;
  };
  static EvalSet whole(std::unique_ptr<Samples> samples, std::int64_t most) {
    const std::int64_t count = limited(samples->size(), most);
    return {std::move(samples), 0, count};
  }
  void swap_validation() final { std::swap(test_, validation_); }

  std::optional<train::SampleCacheBudget> cache_;
  std::unique_ptr<Samples> train_;
  EvalSet test_, validation_;  // the latter is empty if the data has none
  std::int64_t train_samples_ = 0;
};

}  // namespace tutti::models
