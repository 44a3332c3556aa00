#include "tutti/lms/extrapolate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "tutti/core/error.h"
#include "tutti/lms/internal/workspace.h"

namespace tutti::lms {
namespace {

constexpr double kLargestSize = 1e15;
constexpr std::int64_t kPageBytes = 4096;

[[noreturn]] void throw_different(const std::string& message) {
  throw ConfigError(
      "DDL-5-65", fmt::format("Cannot extrapolate between two recorded steps: {}. Record both with "
                              "larger inputs of the same kind.",
                              message));
}

void check_same_structure(const Trace& small, const Trace& large) {
  if (small.operators.size() != large.operators.size() ||
      small.blocks.size() != large.blocks.size()) {
    throw_different(fmt::format("{} operators and {} blocks against {} and {}",
                                small.operators.size(), small.blocks.size(), large.operators.size(),
                                large.blocks.size()));
  }
  for (std::size_t index = 0; index < small.operators.size(); ++index) {
    const Operator &left = small.operators[index], &right = large.operators[index];
    if (left.name != right.name || left.uses != right.uses || left.events != right.events ||
        left.events_before != right.events_before) {
      throw_different(
          fmt::format("operator {} is {} in one and {} in the other, or uses other blocks", index,
                      left.name, right.name));
    }
  }
}

}  // namespace

TraceModel::TraceModel(Trace small, double small_size, Trace large, double large_size)
    : small_(std::move(small)),
      large_(std::move(large)),
      small_size_(small_size),
      large_size_(large_size) {
  if (!(small_size > 0) || !(large_size > small_size)) {
    throw_different(fmt::format("the sizes {} and {} do not ascend", small_size, large_size));
  }
  proportional_ = merge_different_workspaces(small_, large_);
  check_same_structure(small_, large_);
}

// Not below 0, and not below the value of the small size if the input is larger.
double TraceModel::interpolate(double small, double large, double size) const {
  const double slope = std::max(0.0, (large - small) / (large_size_ - small_size_));
  return std::max(0.0, small + slope * (size - small_size_));
}

// Recorded sizes are rounded up to pages. The prediction is not below the rounded size of a block whose exact size is
// affine, so for larger inputs it assumes that the small block was rounded up most and the large one not at all.
std::int64_t TraceModel::predicted_bytes(std::int64_t small, std::int64_t large,
                                         double size) const {
  const bool are_pages = small % kPageBytes == 0 && large % kPageBytes == 0;
  if (are_pages && large > small && size > large_size_) {
    const double slope =
        static_cast<double>(large - small + kPageBytes - 1) / (large_size_ - small_size_);
    const double pages = (static_cast<double>(large) + slope * (size - large_size_)) / kPageBytes;
    return static_cast<std::int64_t>(std::ceil(pages)) * kPageBytes;
  }
  return static_cast<std::int64_t>(
      std::ceil(interpolate(static_cast<double>(small), static_cast<double>(large), size)));
}

Trace TraceModel::at(double size) const {
  const auto bytes = [&](std::int64_t small, std::int64_t large) {
    return predicted_bytes(small, large, size);
  };
  Trace trace = large_;
  for (std::size_t index = 0; index < trace.blocks.size(); ++index) {
    Block& block = trace.blocks[index];
    block.bytes = std::max<std::int64_t>(1, bytes(small_.blocks[index].bytes, block.bytes));
    block.stored_bytes = bytes(small_.blocks[index].stored_bytes, block.stored_bytes);
  }
  for (const int index : proportional_) {
    const auto block = static_cast<std::size_t>(index);
    const double largest =
        static_cast<double>(std::max(small_.blocks[block].bytes, large_.blocks[block].bytes));
    trace.blocks[block].bytes =
        static_cast<std::int64_t>(std::ceil(largest * std::max(1.0, size / large_size_)));
  }
  trace.small_bytes = bytes(small_.small_bytes, trace.small_bytes);
  double time = 0, small_end = 0, large_end = 0;
  for (std::size_t index = 0; index < trace.operators.size(); ++index) {
    Operator& op = trace.operators[index];
    const Operator &small = small_.operators[index], &large = large_.operators[index];
    op.start = time + interpolate(small.start - small_end, large.start - large_end, size);
    op.end = op.start + interpolate(small.end - small.start, large.end - large.start, size);
    time = op.end;
    small_end = small.end;
    large_end = large.end;
  }
  trace.duration =
      time + interpolate(small_.duration - small_end, large_.duration - large_end, size);
  return trace;
}

std::int64_t TraceModel::largest_size(std::int64_t budget, const MovableBlocks& movable,
                                      bool is_enabled) const {
  const auto fits = [&](double size) {
    const Trace trace = at(size);
    return (is_enabled ? minimum_budget(trace, movable).bytes : peak_bytes(trace)) <= budget;
  };
  double low = 0, high = small_size_;
  while (fits(high) && high < kLargestSize) {
    low = high;
    high *= 2;
  }
  if (low == 0 && !fits(1)) return 0;
  while (std::floor(high) - std::ceil(low) > 1) {
    const double middle = std::floor((low + high) / 2);
    (fits(middle) ? low : high) = middle;
  }
  return static_cast<std::int64_t>(std::floor(low));
}

}  // namespace tutti::lms
