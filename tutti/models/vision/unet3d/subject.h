// Heads as the public data sets give them: a folder of NIfTI files each.
#pragma once

#include <filesystem>

#include "tutti/models/vision/unet3d/head.h"

namespace tutti::models::unet3d {

// Whether the folder has a file `*_flair.nii` or `*_flair.nii.gz`.
bool is_subject(const std::filesystem::path& folder);

// The files `*_t1`, `*_t1ce`, `*_flair`, `*_t2` and `*_seg`, all of one size: the smallest cube
// round everything that is not 0, brought to `side` voxels: values between voxels for the images,
// the nearest for the labels. Without `needs_truth`, a missing `*_seg` is all 0. Throws IoError.
Scan read_subject(const std::filesystem::path& folder, int side, bool needs_truth);

}  // namespace tutti::models::unet3d
