#include "tutti/fusion/autotuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tutti::fusion {
namespace {

constexpr std::array<double, Autotuner::kCycles> kCycleMilliseconds = {0, 0.5, 1, 2.5};
// Minimum improvement for moving to a neighbour, so noise does not drive the search.
constexpr double kGain = 1.02;

}  // namespace

std::int64_t Autotuner::Point::cycle_ns() const {
  return static_cast<std::int64_t>(kCycleMilliseconds[static_cast<std::size_t>(cycle)] * 1e6);
}

Autotuner::Autotuner(Point start, std::size_t sample_bytes, double sample_seconds)
    : sample_bytes_(sample_bytes),
      sample_ns_(static_cast<std::int64_t>(sample_seconds * 1e9)),
      current_(start),
      best_(start),
      tried_{start} {}

bool Autotuner::note(std::size_t bytes, std::int64_t now) {
  if (is_done_) return false;
  if (since_ < 0) {
    since_ = now;
    return false;
  }
  bytes_ += bytes;
  if (bytes_ < sample_bytes_ || now - since_ < sample_ns_) return false;
  const double rate = static_cast<double>(bytes_) /
                      (1e-9 * static_cast<double>(std::max<std::int64_t>(now - since_, 1)));
  bytes_ = 0;
  since_ = now;
  if (++samples_ <= kWarmUp) return false;
  rates_.push_back(rate);
  return rates_.size() == kSamples && end_point();
}

bool Autotuner::end_point() {
  std::nth_element(rates_.begin(), rates_.begin() + kSamples / 2, rates_.end());
  const double rate = rates_[kSamples / 2];
  rates_.clear();
  samples_ = 0;
  if (rate > best_rate_ * (best_rate_ > 0 ? kGain : 1)) {
    best_ = current_;
    best_rate_ = rate;
    next_.clear();  // continue the search from the new centre
    add_neighbours();
  }
  is_done_ = next_.empty();
  const Point before = current_;
  current_ = is_done_ ? best_ : next_.back();
  if (!is_done_) {
    tried_.push_back(current_);
    next_.pop_back();
  }
  return !(current_ == before);
}

void Autotuner::add_neighbours() {
  constexpr std::array<std::array<int, 2>, 4> kSteps = {{{0, -1}, {0, 1}, {-1, 0}, {1, 0}}};
  for (const auto& [bucket, cycle] : kSteps) {
    const Point point{best_.bucket + bucket, best_.cycle + cycle};
    const bool is_on_grid =
        point.bucket >= 0 && point.bucket < kBuckets && point.cycle >= 0 && point.cycle < kCycles;
    if (is_on_grid && std::find(tried_.begin(), tried_.end(), point) == tried_.end())
      next_.push_back(point);
  }
}

std::string Autotuner::text() const {
  return fmt::format("bucket_bytes {} MiB, cycle {} ms: {:.0f} MB/s", best_.bucket_bytes() >> 20,
                     1e-6 * static_cast<double>(best_.cycle_ns()), 1e-6 * best_rate_);
}

}  // namespace tutti::fusion
