// Dice coefficients of tumour regions, compared with a threshold baseline.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tutti/models/vision/unet3d/head.h"

namespace tutti::models::unet3d {

// Evaluated regions: the whole tumour, its core (necrosis and rim), and the enhancing rim. Each contains the next.
inline constexpr int kRegions = 3;
const std::array<const char*, kRegions>& region_names();
bool is_in_region(int region, std::uint8_t label);

// Voxels of a region: in both, in the truth, in the prediction.
struct Overlap {
  std::int64_t both = 0, truth = 0, found = 0;
  double dice() const;  // 1 if both are empty
};
Overlap overlap(int region, std::span<const std::uint8_t> truth,
                std::span<const std::uint8_t> found);

// Baseline without learning: all voxels in which one modality exceeds a value, given in standard deviations from the
// mean of the scan.
struct Threshold {
  int modality = 0;
  double value = 0;
};
Overlap overlap(int region, const Threshold& threshold, std::span<const float> images,
                std::span<const std::uint8_t> truth);

// Finds the modality and value with the highest mean Dice over the scans that were added.
class ThresholdSearch {
 public:
  void add(std::span<const float> images, std::span<const std::uint8_t> truth);
  Threshold best(int region) const;

 private:
  static constexpr int kBins = 160;  // of width 0.05 from -3 on
  double sums_[kRegions][kModalities][kBins] = {};
};

}  // namespace tutti::models::unet3d
