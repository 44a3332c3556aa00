// How well regions are found: intersection over union of each class, over all pixels of all frames.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "tutti/models/science/climate/labels.h"

namespace tutti::models::climate_segment {

class Overlap {
 public:
  // Pixel by pixel: the class that is meant, and the class that was found.
  void add(std::span<const std::uint8_t> meant, std::span<const std::uint8_t> found);
  // Of a class that nobody has meant or found: 1.
  double iou(int label) const;
  double mean_iou() const;
  double accuracy() const;
  std::span<double> counts() { return counts_; }  // to be summed over ranks

 private:
  double count(int meant, int found) const {
    return counts_[static_cast<std::size_t>(meant * climate::kClasses + found)];
  }
  std::array<double, climate::kClasses * climate::kClasses> counts_{};
};

// Weights of the classes in the loss, of sum 1: all alike, by one over the frequency, or over its
// root. A class that never occurs weighs as if it had one pixel in ten million.
enum class Weighting { kNone, kInverseSqrt, kInverse };  // the option `weighting`
std::array<float, climate::kClasses> class_weights(
    Weighting weighting, const std::array<double, climate::kClasses>& frequencies);

}  // namespace tutti::models::climate_segment
