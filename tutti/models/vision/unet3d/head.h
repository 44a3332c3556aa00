// One made head: what four kinds of magnetic resonance images show of it, and where its tumour is.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/core/random.h"

namespace tutti::models::unet3d {

inline constexpr int kModalities = 4;  // t1, t1 with contrast agent, flair, t2
enum Modality { kT1, kT1ce, kFlair, kT2 };

// The labels of the public data sets of brain tumours; there is no 3.
enum Label : std::uint8_t { kHealthy = 0, kNecrosis = 1, kOedema = 2, kEnhancing = 4 };

struct Scan {
  std::vector<float> images;         // modality after modality, side^3 whole numbers each
  std::vector<std::uint8_t> labels;  // side^3
};

// An ellipsoid of scalp, bone, fluid, grey and white matter with two ventricles; in it a tumour: a
// dead core in a rim that takes up contrast agent, in a swollen surrounding, all with uneven
// borders. So that no threshold finds it, there are also harmless bright spots and vessels, every
// modality has a gain and a smooth bias of its own, and noise as it is in magnitudes (Rician).
Scan make_scan(int side, Random& random);

}  // namespace tutti::models::unet3d
