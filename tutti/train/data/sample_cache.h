// Cache of decoded samples with a memory budget per rank.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

namespace tutti::train {

// Memory budget of the caches of all files of a task. Thread-safe.
class SampleCacheBudget {
 public:
  explicit SampleCacheBudget(double bytes) : left_(static_cast<std::int64_t>(bytes)) {}
  // Reserves `bytes` if the budget allows it; otherwise returns false and reserves nothing.
  bool take(std::size_t bytes) {
    const auto wanted = static_cast<std::int64_t>(bytes);
    if (left_.fetch_sub(wanted) >= wanted) return true;
    left_.fetch_add(wanted);
    return false;
  }

 private:
  std::atomic<std::int64_t> left_;
};

// A list of samples, each a list of T, cached within the budget. Empty samples are read every time. Not thread-safe.
template <class T>
class SampleCache {
 public:
  using Sample = std::vector<T>;
  // `budget` must outlive this object. Without a budget, samples that were read are not cached.
  explicit SampleCache(SampleCacheBudget* budget = nullptr) : budget_(budget) {}

  // Appends `count` samples that have not been read yet.
  void add(std::int64_t count) {
    samples_.resize(samples_.size() + static_cast<std::size_t>(count));
  }
  // Appends a sample that is in memory already, regardless of the budget.
  void add(Sample sample) { samples_.push_back(std::move(sample)); }

  // Returns a sample. If it is not cached, `read(values)` appends it to an empty list. Valid until the next call.
  template <class Read>
  const Sample& get(std::int64_t index, Read read) {
    Sample& cached = samples_[static_cast<std::size_t>(index)];
    if (!cached.empty()) return cached;
    read_.clear();
    read(read_);
    // A copy: `read_` has spare capacity, which the next sample reuses.
    if (budget_ && budget_->take(read_.size() * sizeof(T))) return cached = read_;
    return read_;
  }

 private:
  SampleCacheBudget* budget_;
  std::vector<Sample> samples_;
  Sample read_;  // the last sample that was read
};

}  // namespace tutti::train
