// Queue of tensors that are ready on all ranks; the root forms buckets from it. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/fusion/message.h"

namespace tutti::fusion {

// Returns true if the two tensors can be fused into one operation.
bool can_share_bucket(const Signature& a, const Signature& b);
// Tensors of at least 1/kAlonePart of a bucket are not fused: they use the full bandwidth by themselves, and copying
// them would cost more than the latency it saves.
inline constexpr std::size_t kAlonePart = 16;

// Tensors wait here while `window` buckets are in flight, so a tensor that became ready late but is needed first still
// overtakes them. Unless a cycle time is set, no tensor is held back to wait for others: while buckets are in flight,
// more tensors arrive anyway. Not thread-safe.
class BucketQueue {
 public:
  struct Settings {
    std::size_t bucket_bytes = 16 << 20;
    std::int64_t cycle_ns = 0;  // time that a partially filled bucket waits for more tensors
    int window = 2;
  };

  explicit BucketQueue(const Settings& settings) : settings_(settings) {}
  void set(std::size_t bucket_bytes, std::int64_t cycle_ns) {
    settings_.bucket_bytes = bucket_bytes;
    settings_.cycle_ns = cycle_ns;
  }
  const Settings& settings() const { return settings_; }

  void add(Report report, std::int64_t now);
  // Returns the next bucket, or nothing if none is due while `in_flight` buckets are in flight. The first tensor is the
  // one with the lowest priority value, then the oldest. Tensors that can share its bucket follow in the same order
  // until the bucket is full. A large tensor is a separate bucket. Members are ordered by arrival.
  std::vector<Report> next(std::int64_t now, int in_flight);
  bool is_empty() const { return ready_.empty(); }
  // Removes and returns all queued tensors, which are then cancelled.
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
