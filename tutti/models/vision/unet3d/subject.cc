#include "tutti/models/vision/unet3d/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "tutti/core/error.h"
#include "tutti/models/vision/unet3d/nifti.h"

namespace tutti::models::unet3d {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_folder(const fs::path& folder, const std::string& why) {
  throw IoError("DDL-7-67", fmt::format("{} {}.", folder.string(), why));
}

std::optional<fs::path> file_of(const fs::path& folder, const std::string& kind) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with("_" + kind + ".nii") || name.ends_with("_" + kind + ".nii.gz"))
      found.push_back(entry.path());
  }
  if (found.empty()) return std::nullopt;
  return *std::ranges::min_element(found);
}

Volume volume_of(const fs::path& folder, const std::string& kind) {
  const std::optional<fs::path> file = file_of(folder, kind);
  if (!file) refuse_folder(folder, fmt::format("has no file *_{}.nii or *_{}.nii.gz", kind, kind));
  return read_nifti(*file);
}

// A cube in voxels of the file: its first corner and its side.
struct Cube {
  std::array<double, 3> first{};
  double edge = 1;
};

Cube cube_round(const std::vector<Volume>& images) {
  const std::array<int, 3> size = images[0].size;
  std::array<int, 3> low = size, high{};
  for (const Volume& image : images)
    for (std::size_t i = 0; i < image.values.size(); ++i) {
      if (image.values[i] == 0) continue;
      const auto nx = static_cast<std::size_t>(size[0]), ny = static_cast<std::size_t>(size[1]);
      const int voxel[3] = {int(i % nx), int(i / nx % ny), int(i / nx / ny)};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        low[axis] = std::min(low[axis], voxel[axis]);
        high[axis] = std::max(high[axis], voxel[axis] + 1);
      }
    }
  if (low[0] >= high[0]) {  // all zeros
    low = {};
    high = size;
  }
  Cube cube;
  for (std::size_t axis = 0; axis < 3; ++axis)
    cube.edge = std::max<double>(cube.edge, high[axis] - low[axis]);
  for (std::size_t axis = 0; axis < 3; ++axis)
    cube.first[axis] = (low[axis] + high[axis] - cube.edge) / 2.0;
  return cube;
}

float or_zero(const Volume& volume, int x, int y, int z) {
  const bool is_inside =
      x >= 0 && y >= 0 && z >= 0 && x < volume.size[0] && y < volume.size[1] && z < volume.size[2];
  return is_inside ? volume.at(x, y, z) : 0.f;
}

// Trilinear interpolation.
float between_voxels(const Volume& volume, const std::array<double, 3>& voxel) {
  int low[3];
  double share[3];
  for (std::size_t axis = 0; axis < 3; ++axis) {
    low[axis] = static_cast<int>(std::floor(voxel[axis]));
    share[axis] = voxel[axis] - low[axis];
  }
  double sum = 0;
  for (int i = 0; i < 8; ++i) {
    const int x = i & 1, y = i >> 1 & 1, z = i >> 2;
    sum += (x ? share[0] : 1 - share[0]) * (y ? share[1] : 1 - share[1]) *
           (z ? share[2] : 1 - share[2]) *
           double(or_zero(volume, low[0] + x, low[1] + y, low[2] + z));
  }
  return static_cast<float>(sum);
}

float nearest_voxel(const Volume& volume, const std::array<double, 3>& voxel) {
  return or_zero(volume, static_cast<int>(std::lround(voxel[0])),
                 static_cast<int>(std::lround(voxel[1])), static_cast<int>(std::lround(voxel[2])));
}

// Calls visit(index of the voxel, its coordinates in voxels of the file).
template <class Visit>
void each_voxel(const Cube& cube, int side, Visit visit) {
  const double step = cube.edge / side;
  auto along = [&](std::size_t axis, int i) { return cube.first[axis] + (i + 0.5) * step - 0.5; };
  std::size_t index = 0;
  for (int x = 0; x < side; ++x)
    for (int y = 0; y < side; ++y)
      for (int z = 0; z < side; ++z)
        visit(index++, std::array<double, 3>{along(0, x), along(1, y), along(2, z)});
}

}  // namespace

bool is_subject(const fs::path& folder) {
  return fs::is_directory(folder) && file_of(folder, "flair");
}

Scan read_subject(const fs::path& folder, int side, bool needs_truth) {
  std::vector<Volume> images;
  for (const char* kind : {"t1", "t1ce", "flair", "t2"}) {
    images.push_back(volume_of(folder, kind));
    if (images.back().size != images[0].size) refuse_folder(folder, "has files of different sizes");
  }
  const Cube cube = cube_round(images);
  const auto n = static_cast<std::size_t>(side), voxels = n * n * n;
  Scan scan{std::vector<float>(kModalities * voxels), std::vector<std::uint8_t>(voxels)};
  for (std::size_t modality = 0; modality < kModalities; ++modality)
    each_voxel(cube, side, [&](std::size_t index, const auto& voxel) {
      scan.images[modality * voxels + index] = between_voxels(images[modality], voxel);
    });
  if (!needs_truth && !file_of(folder, "seg")) return scan;
  const Volume truth = volume_of(folder, "seg");
  if (truth.size != images[0].size) refuse_folder(folder, "has files of different sizes");
  each_voxel(cube, side, [&](std::size_t index, const auto& voxel) {
    scan.labels[index] = static_cast<std::uint8_t>(nearest_voxel(truth, voxel));
  });
  return scan;
}

}  // namespace tutti::models::unet3d
