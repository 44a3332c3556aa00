// Slices through scans as SVG: image, true labels, predicted labels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/models/vision/unet3d/head.h"

namespace tutti::models::unet3d {

struct Slices {
  Scan scan;
  std::vector<std::uint8_t> found;
};

// One row per scan, at the slice with the most tumour: t1 with contrast agent, flair with the true labels, flair with
// the predicted labels. Deterministic: the same scans give the same bytes.
std::string slices_svg(int side, const std::vector<Slices>& heads);

}  // namespace tutti::models::unet3d
