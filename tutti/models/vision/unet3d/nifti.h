// Volumes in NIfTI files, the usual exchange format of brain scans.
#pragma once

#include <array>
#include <filesystem>
#include <vector>

namespace tutti::models::unet3d {

struct Volume {
  std::array<int, 3> size{};
  std::vector<float> values;  // the first axis fastest
  float at(int x, int y, int z) const {
    return values[(std::size_t(z) * size[1] + std::size_t(y)) * size[0] + std::size_t(x)];
  }
};

// The first volume of a `.nii` or `.nii.gz` file (NIfTI-1 or NIfTI-2, either byte order), in its units. Throws IoError
// if the file is damaged or a value is NaN or infinite.
Volume read_nifti(const std::filesystem::path& file);

}  // namespace tutti::models::unet3d
