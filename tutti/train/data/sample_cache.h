// Samples that stay in memory once they were read, so that they are not read again, and how much
// memory a rank gives to them.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

namespace tutti::train {

// Shared by all files of a task; safe from several threads.
class SampleCacheBudget {
 public:
  explicit SampleCacheBudget(double bytes) : left_(static_cast<std::int64_t>(bytes)) {}
  // Whether so many bytes may be kept from now on; when not, nothing is taken.
  bool take(std::size_t bytes) {
    const auto wanted = static_cast<std::int64_t>(bytes);
    if (left_.fetch_sub(wanted) >= wanted) return true;
    left_.fetch_add(wanted);
    return false;
  }

 private:
  std::atomic<std::int64_t> left_;
};

// A list of samples, each some values of T, kept as far as the budget goes. Empty samples are read
// again each time. Not safe from several threads.
template <class T>
class SampleCache {
 public:
  using Sample = std::vector<T>;
  // Without a budget, which must outlive this, nothing is kept that was read.
  explicit SampleCache(SampleCacheBudget* budget = nullptr) : budget_(budget) {}

  // So many that are not read yet, after those that are there.
  void add(std::int64_t count) { kept_.resize(kept_.size() + static_cast<std::size_t>(count)); }
  // One that is there already, whatever the budget.
  void add(Sample sample) { kept_.push_back(std::move(sample)); }

  // The sample, which `read(values)` appends to an empty list when it is not here. Valid until the
  // next call.
  template <class Read>
  const Sample& get(std::int64_t index, Read read) {
    Sample& kept = kept_[static_cast<std::size_t>(index)];
    if (!kept.empty()) return kept;
    read_.clear();
    read(read_);
    // A copy: `read_` has more room than it needs, and gives it to the next one.
    if (budget_ && budget_->take(read_.size() * sizeof(T))) return kept = read_;
    return read_;
  }

 private:
  SampleCacheBudget* budget_;
  std::vector<Sample> kept_;
  Sample read_;  // the last that was read
};

}  // namespace tutti::train
