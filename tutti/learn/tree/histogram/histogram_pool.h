// Pool of histogram memory. Not thread-safe.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace tutti::learn::tree {

class HistogramPool {
 public:
  explicit HistogramPool(std::size_t words) : words_(words) {}

  // Not cleared. Owned by the pool; return it with `give`.
  std::uint64_t* take() {
    if (free_.empty()) {
      all_.push_back(std::make_unique_for_overwrite<std::uint64_t[]>(words_));
      return all_.back().get();
    }
    std::uint64_t* histogram = free_.back();
    free_.pop_back();
    return histogram;
  }
  void give(std::uint64_t* histogram) {
    if (histogram != nullptr) free_.push_back(histogram);
  }
  std::size_t words() const { return words_; }

 private:
  std::size_t words_;
  std::vector<std::unique_ptr<std::uint64_t[]>> all_;
  std::vector<std::uint64_t*> free_;
};

}  // namespace tutti::learn::tree
