// A synthetic brain MRI scan: images of four modalities and the labels of a tumour.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/core/random.h"

namespace tutti::models::unet3d {

inline constexpr int kModalities = 4;  // t1, t1 with contrast agent, flair, t2
enum Modality { kT1, kT1ce, kFlair, kT2 };

// Labels of the public brain tumour data sets, which do not use 3.
enum Label : std::uint8_t { kHealthy = 0, kNecrosis = 1, kOedema = 2, kEnhancing = 4 };

struct Scan {
  std::vector<float> images;         // modality after modality, side^3 integers each
  std::vector<std::uint8_t> labels;  // side^3
};

// An ellipsoid of scalp, bone, fluid, grey and white matter with two ventricles, and a tumour: a necrotic core in an
// enhancing rim, surrounded by oedema, all with irregular borders. So that no threshold separates the tumour, there are
// also harmless bright spots and vessels, each modality has its own gain and smooth bias field, and the noise is
// Rician.
Scan make_scan(int side, Random& random);

}  // namespace tutti::models::unet3d
