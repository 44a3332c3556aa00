// Slices through heads as a picture: what was measured, where the tumour is, where it was found.
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

// A row for each head, cut where most of the tumour is: t1 with contrast agent, flair with the true
// labels, flair with those that were found. As SVG; the same heads give the same bytes.
std::string slices_svg(int side, const std::vector<Slices>& heads);

}  // namespace tutti::models::unet3d
