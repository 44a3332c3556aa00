#include "tutti/models/science/cosmoflow/volumes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tutti/core/error.h"

namespace tutti::models::cosmoflow {

VolumeFiles::VolumeFiles(const std::filesystem::path& folder, const std::string& prefix,
                         Variant variant, int side, int channels, train::SampleCacheBudget* budget)
    : side_(side), channels_(channels), cache_(budget) {
  for (const auto& path : train::h5_files(folder, prefix)) add(path, variant);
  if (locations_.empty())
    throw IoError("DDL-7-68", fmt::format("{} has no universes in files {}*.h5. Set `data` to a "
                                          "directory that has them, or leave it empty.",
                                          folder.string(), prefix));
  cache_.add(size());
  scratch_.resize(static_cast<std::size_t>(channels_ * side_ * side_ * side_));
}

void VolumeFiles::add(const std::filesystem::path& path, Variant variant) {
  const train::H5File file(path, train::H5File::Mode::kRead);
  files_.push_back(path);
  const std::vector<Parameter>& wanted = parameters(variant);
  const auto count = static_cast<std::int64_t>(wanted.size());
  const bool is_cube = file.has("full");
  const std::string name = is_cube ? "unitPar" : "physPar";
  const std::vector<std::int64_t> shape = file.shape(is_cube ? "full" : "volumes"),
                                  labels = file.shape(name);
  const bool fits = is_cube ? shape.size() == 4 && shape[0] % side_ == 0 && shape[3] >= channels_ &&
                                  labels[0] >= count
                            : shape.size() == 5 && shape[1] == channels_ && shape[2] == side_ &&
                                  labels.size() == 2 && labels[1] == count;
  if (!fits)
    throw IoError("DDL-7-67",
                  fmt::format("{}: `volumes` must be (N,{},{},{},{}) with `physPar` (N,{}), or "
                              "`full` a multiple of {} a side with `unitPar`.",
                              path.string(), channels_, side_, side_, side_, count, side_));
  const std::int64_t cuts = is_cube ? shape[0] / side_ : 1,
                     samples = is_cube ? cuts * cuts * cuts : shape[0];
  std::vector<float> values(static_cast<std::size_t>(is_cube ? labels[0] : labels[0] * labels[1]));
  file.read(name, 0, labels[0], values);
  for (std::int64_t row = 0; row < samples; ++row) {
    locations_.push_back({files_.size() - 1, row, is_cube});
    std::vector<double>& truth = truths_.emplace_back();
    for (std::size_t i = 0; i < wanted.size(); ++i)
      truth.push_back(is_cube ? wanted[i].centre + wanted[i].scale * double(values[i])
                              : double(values[static_cast<std::size_t>(row * count) + i]));
  }
}

// Reads planes of the whole universe and copies the cube from them, channels first.
void VolumeFiles::read_cube(const train::H5File& file, std::int64_t cube,
                            std::span<float> out) const {
  const std::vector<std::int64_t> shape = file.shape("full");
  const std::int64_t cuts = shape[0] / side_, plane = shape[1] * shape[2] * shape[3];
  const std::int64_t x0 = cube / (cuts * cuts) * side_, y0 = cube / cuts % cuts * side_,
                     z0 = cube % cuts * side_;
  std::vector<float> planes(static_cast<std::size_t>(plane));
  for (std::int64_t x = 0; x < side_; ++x) {
    file.read("full", x0 + x, 1, planes);
    for (std::int64_t y = 0; y < side_; ++y)
      for (std::int64_t z = 0; z < side_; ++z)
        for (std::int64_t c = 0; c < channels_; ++c)
          out[static_cast<std::size_t>(((c * side_ + x) * side_ + y) * side_ + z)] =
              planes[static_cast<std::size_t>(((y0 + y) * shape[2] + z0 + z) * shape[3] + c)];
  }
}

void VolumeFiles::read(const Location& location, std::span<float> out) const {
  const train::H5File file(files_[location.file], train::H5File::Mode::kRead);
  if (location.is_cube)
    read_cube(file, location.row, out);
  else
    file.read("volumes", location.row, 1, out);
}

const std::vector<std::uint16_t>& VolumeFiles::voxels(std::int64_t index) {
  return cache_.get(index, [&](std::vector<std::uint16_t>& out) {
    read(locations_[static_cast<std::size_t>(index)], scratch_);
    for (float x : scratch_)
      out.push_back(static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(x) + 0x8000) >> 16));
  });
}

void VolumeFiles::volumes(std::span<const std::int64_t> indices, float* out) {
  for (std::int64_t index : indices)
    for (std::uint16_t x : voxels(index)) *out++ = std::bit_cast<float>(std::uint32_t{x} << 16);
}

}  // namespace tutti::models::cosmoflow
