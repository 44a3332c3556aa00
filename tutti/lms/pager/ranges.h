// First-fit allocation of ranges of numbers: address space and file extents.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace tutti::lms {

// Free ranges of [0, end). Adjacent free ranges are merged. Not thread-safe.
class Ranges {
 public:
  explicit Ranges(std::int64_t end) : end_(end) {
    if (end > 0) free_[0] = end;
  }

  // Takes the lowest free range of `bytes` that begins at a multiple of `alignment`, and returns its start; empty if
  // none fits.
  std::optional<std::int64_t> take(std::int64_t bytes, std::int64_t alignment = 1);
  void give_back(std::int64_t start, std::int64_t bytes);
  // Adds the free range [end, end + bytes).
  void extend(std::int64_t bytes);
  std::int64_t end() const { return end_; }

 private:
  std::int64_t end_;
  std::map<std::int64_t, std::int64_t> free_;  // start -> bytes
};

}  // namespace tutti::lms
