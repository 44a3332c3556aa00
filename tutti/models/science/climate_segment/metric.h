// Intersection over union of each class, over all pixels of all frames.
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
  // Per pixel: the labelled and the predicted class.
  void add(std::span<const std::uint8_t> meant, std::span<const std::uint8_t> found);
  // 1 for a class that neither occurs nor is predicted.
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

// Class weights of the loss, with sum 1: equal, by the inverse frequency, or by its square root. A class that does not
// occur has the weight of one with one pixel in ten million.
enum class Weighting { kNone, kInverseSqrt, kInverse };  // the option `weighting`
std::array<float, climate::kClasses> class_weights(
    Weighting weighting, const std::array<double, climate::kClasses>& frequencies);

}  // namespace tutti::models::climate_segment
