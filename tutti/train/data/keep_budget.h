// How much memory a rank gives to samples it has read, so that it need not read them again.
#pragma once

#include <atomic>
#include <cstdint>

namespace tutti::train {

// Shared by all files of a task; safe from several threads.
class KeepBudget {
 public:
  explicit KeepBudget(double bytes) : left_(static_cast<std::int64_t>(bytes)) {}
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

}  // namespace tutti::train
