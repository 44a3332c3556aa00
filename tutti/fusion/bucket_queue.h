// What the root does with tensors that are ready everywhere: makes buckets of them. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/fusion/message.h"

namespace tutti::fusion {

// Whether two tensors may travel as one.
bool can_share_bucket(const Signature& a, const Signature& b);
// Tensors of at least this part of a bucket go alone: they fill the wire by themselves, and copying
// them together would cost more than the wait that it saves.
inline constexpr std::size_t kAlonePart = 16;

// Tensors wait here while `window` buckets are under way: what is needed first, though it came
// last, still overtakes them. Nothing is held back for company, unless a cycle time asks for it:
// while buckets are under way company gathers by itself.
class BucketQueue {
 public:
  struct Settings {
    std::size_t bucket_bytes = 16 << 20;
    std::int64_t cycle_ns = 0;  // how long a bucket that is not full waits for more
    int window = 2;
  };

  explicit BucketQueue(const Settings& settings) : settings_(settings) {}
  void set(std::size_t bucket_bytes, std::int64_t cycle_ns) {
    settings_.bucket_bytes = bucket_bytes;
    settings_.cycle_ns = cycle_ns;
  }
  const Settings& settings() const { return settings_; }

  void add(Report report, std::int64_t now);
  // The next bucket, if one shall go while `under_way` others are. The first tensor is the one with
  // the lowest priority, then the oldest; others that can share its bucket follow in this order
  // until the bucket is full. A large tensor goes alone. Members are in the order in
  // which they came.
  std::vector<Report> next(std::int64_t now, int under_way);
  bool is_empty() const { return ready_.empty(); }
  // What waits here, to be given up.
  std::vector<Report> take_all();

 private:
  struct Ready {
    Report report;
    std::int64_t since;
    std::uint64_t number;
  };
  Settings settings_;
  std::vector<Ready> ready_;  // by priority, then number
  std::uint64_t numbers_ = 0;
};

}  // namespace tutti::fusion
