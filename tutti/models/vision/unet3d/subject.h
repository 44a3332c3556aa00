// Scans of the public data sets: a directory of NIfTI files each.
#pragma once

#include <filesystem>

#include "tutti/models/vision/unet3d/head.h"

namespace tutti::models::unet3d {

// True if the directory has a file `*_flair.nii` or `*_flair.nii.gz`.
bool is_subject(const std::filesystem::path& folder);

// Reads the files `*_t1`, `*_t1ce`, `*_flair`, `*_t2` and `*_seg`, all of one size. The smallest cube around all
// nonzero voxels is resampled to `side` voxels: linear interpolation for the images, nearest neighbour for the labels.
// Without `needs_truth`, a missing `*_seg` is all 0. Throws IoError.
Scan read_subject(const std::filesystem::path& folder, int side, bool needs_truth);

}  // namespace tutti::models::unet3d
