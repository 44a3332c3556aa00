// Online search for the bucket size and cycle time with the highest reduction throughput. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tutti::fusion {

// Hill climbing on a grid of bucket sizes and cycle times.
//
// Each point is measured by the median of kSamples samples of the same number of bytes, after kWarmUp samples that
// are discarded. If a neighbour is better than the centre, it becomes the new centre. The search ends when no
// neighbour is better than the centre. Training continues during the search: results are correct at every point.
// Not thread-safe.
class Autotuner {
 public:
  struct Point {
    int bucket = 4;  // 2^bucket MiB
    int cycle = 0;   // kCycles[cycle] milliseconds
    std::size_t bucket_bytes() const { return std::size_t{1} << (20 + bucket); }
    std::int64_t cycle_ns() const;
    bool operator==(const Point&) const = default;
  };
  static constexpr int kBuckets = 8;  // 1 to 128 MiB
  static constexpr int kCycles = 4;

  // A sample ends with the bucket that reaches `sample_bytes`, but no earlier than `sample_seconds` after its start.
  Autotuner(Point start, std::size_t sample_bytes, double sample_seconds);

  // Records that a bucket of `bytes` bytes was reduced at time `now` (nanoseconds). Returns true if `point` has
  // changed.
  bool note(std::size_t bytes, std::int64_t now);
  const Point& point() const { return current_; }
  bool is_done() const { return is_done_; }
  // Bytes per second at the best point so far.
  double best_rate() const { return best_rate_; }
  std::string text() const;

 private:
  static constexpr int kWarmUp = 2;  // samples discarded after each change
  static constexpr int kSamples = 5;
  bool end_point();
  void add_neighbours();

  const std::size_t sample_bytes_;
  const std::int64_t sample_ns_;
  Point current_, best_;
  double best_rate_ = 0;
  std::vector<Point> tried_, next_;
  std::vector<double> rates_;
  int samples_ = 0;
  std::size_t bytes_ = 0;
  std::int64_t since_ = -1;
  bool is_done_ = false;
};

}  // namespace tutti::fusion
