#include "tutti/models/science/gan3d/showers.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tutti/core/error.h"
#include "tutti/models/science/gan3d/shower.h"

namespace tutti::models::gan3d {

ShowerFiles::ShowerFiles(const std::filesystem::path& folder, const std::string& prefix,
                         bool needs_cells, train::SampleCacheBudget* budget)
    : cache_(budget), scratch_(kCells) {
  for (const auto& path : train::h5_files(folder, prefix)) add(path, needs_cells);
  if (energies_.empty())
    throw IoError("DDL-7-68", fmt::format("{} has no showers in files {}*.h5. Set `data` to a "
                                          "directory that has them, or leave it empty.",
                                          folder.string(), prefix));
  cache_.add(size());
}

void ShowerFiles::add(const std::filesystem::path& path, bool needs_cells) {
  files_.emplace_back(path, train::H5File::Mode::kRead);
  const train::H5File& file = files_.back();
  const std::vector<std::int64_t> targets = file.shape("target");
  const std::int64_t columns =
      std::accumulate(targets.begin() + 1, targets.end(), std::int64_t{1}, std::multiplies<>());
  const std::vector<std::int64_t> wanted = {targets[0], kSide, kSide, kSide};
  if (targets.size() < 2 || columns < 2 || (needs_cells && file.shape("ECAL") != wanted))
    throw IoError("DDL-7-67",
                  fmt::format("{}: `ECAL` must be (N,{},{},{}) and `target` (N,2 or more), the "
                              "second column the energy.",
                              path.string(), kSide, kSide, kSide));
  std::vector<float> values(static_cast<std::size_t>(targets[0] * columns));
  file.read("target", 0, targets[0], values);
  for (std::int64_t row = 0; row < targets[0]; ++row) {
    locations_.push_back({files_.size() - 1, row});
    energies_.push_back(values[static_cast<std::size_t>(row * columns) + 1]);
  }
}

const std::vector<ShowerFiles::Cell>& ShowerFiles::shower(std::int64_t index) {
  return cache_.get(index, [&](std::vector<Cell>& out) {
    const Location& location = locations_[static_cast<std::size_t>(index)];
    files_[location.file].read("ECAL", location.row, 1, scratch_);
    for (std::size_t i = 0; i < scratch_.size(); ++i)
      if (scratch_[i] >= kThreshold) out.push_back({static_cast<std::uint16_t>(i), scratch_[i]});
  });
}

void ShowerFiles::cells(std::span<const std::int64_t> indices, float* out) {
  std::fill_n(out, kCells * indices.size(), 0.f);
  for (std::int64_t index : indices) {
    for (const Cell& cell : shower(index)) out[cell.index] = cell.energy;
    out += kCells;
  }
}

}  // namespace tutti::models::gan3d
