// Universes from files, as batches for the network.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tutti/models/science/cosmoflow/case.h"
#include "tutti/train/data/h5.h"
#include "tutti/train/data/sample_cache.h"

namespace tutti::models::cosmoflow {

// The samples of several files as one list. A file has `volumes` (N,C,S,S,S) and `physPar` (N,P), or, as in MLPerf HPC,
// one universe `full` (X,X,X,C) with `unitPar` (P), which is split into cubes of `side`. Samples are cached within the
// budget, two bytes per voxel. A file is open only while it is read, because there may be thousands. Not thread-safe.
class VolumeFiles {
 public:
  // The files of `folder` whose names begin with `prefix`; files of MLPerf HPC have any name. Throws IoError if there
  // are none, or if one does not fit. Without a budget, which must outlive this object, nothing is cached.
  VolumeFiles(const std::filesystem::path& folder, const std::string& prefix, Variant variant,
              int side, int channels, train::SampleCacheBudget* budget = nullptr);

  std::int64_t size() const { return static_cast<std::int64_t>(locations_.size()); }
  // In physical units, one value per parameter of the variant.
  const std::vector<double>& truth(std::int64_t index) const {
    return truths_[static_cast<std::size_t>(index)];
  }
  // The volumes, concatenated, channel by channel, as in the file.
  void volumes(std::span<const std::int64_t> indices, float* out);

 private:
  struct Location {
    std::size_t file;
    std::int64_t row;  // of `volumes`; or index of the cube in `full`
    bool is_cube;
  };
  void add(const std::filesystem::path& path, Variant variant);
  const std::vector<std::uint16_t>& voxels(std::int64_t index);
  void read(const Location& location, std::span<float> out) const;
  void read_cube(const train::H5File& file, std::int64_t cube, std::span<float> out) const;

  std::int64_t side_, channels_;
  std::vector<std::filesystem::path> files_;
  std::vector<Location> locations_;
  std::vector<std::vector<double>> truths_;
  train::SampleCache<std::uint16_t> cache_;  // bf16
  std::vector<float> scratch_;
};

}  // namespace tutti::models::cosmoflow
