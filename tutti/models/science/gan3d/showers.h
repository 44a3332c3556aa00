// Showers from files, as batches for the networks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tutti/train/data/h5.h"
#include "tutti/train/data/sample_cache.h"

namespace tutti::models::gan3d {

// The showers of several files as one list. A file has `ECAL` (N,25,25,25), GeV, and `target`, whose second column is
// the energy of the electron in GeV: the layout of the published data set. Nonzero cells are cached within the budget.
// Not thread-safe.
class ShowerFiles {
 public:
  // The files of `folder` whose names begin with `prefix`. Throws IoError if there are none, or if one does not fit.
  // Without `needs_cells`, files may have energies only. Without a budget, which must outlive this object, nothing is
  // cached.
  ShowerFiles(const std::filesystem::path& folder, const std::string& prefix,
              bool needs_cells = true, train::SampleCacheBudget* budget = nullptr);

  std::int64_t size() const { return static_cast<std::int64_t>(energies_.size()); }
  double energy(std::int64_t index) const { return energies_[static_cast<std::size_t>(index)]; }
  // The cells (x, y, z) of the showers, concatenated; those below the threshold are 0.
  void cells(std::span<const std::int64_t> indices, float* out);

 private:
  struct Location {
    std::size_t file;
    std::int64_t row;
  };
  struct Cell {
    std::uint16_t index;
    float energy;
  };
  void add(const std::filesystem::path& path, bool needs_cells);
  const std::vector<Cell>& shower(std::int64_t index);

  std::vector<train::H5File> files_;
  std::vector<Location> locations_;
  std::vector<double> energies_;
  train::SampleCache<Cell> cache_;
  std::vector<float> scratch_;
};

}  // namespace tutti::models::gan3d
