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

// The samples of several files as one list. A file has `volumes` (N,C,S,S,S) and `physPar` (N,P),
// as ours, or, as the files of MLPerf HPC, one universe `full` (X,X,X,C) with `unitPar` (P), which
// is cut into cubes of `side`. What was read is kept in memory, two bytes per voxel, as far as the
// budget goes. A file is open only while it is read: there may be thousands. Not safe from several
// threads.
class VolumeFiles {
 public:
  // Those files of `folder` whose names begin with `prefix`; files of MLPerf HPC have any name.
  // Throws IoError when there are none, or when one does not fit. Without a budget, which must
  // outlive this, nothing is kept.
  VolumeFiles(const std::filesystem::path& folder, const std::string& prefix, Variant variant,
              int side, int channels, train::SampleCacheBudget* budget = nullptr);

  std::int64_t size() const { return static_cast<std::int64_t>(locations_.size()); }
  // In physical units, one per parameter of the variant.
  const std::vector<double>& truth(std::int64_t index) const {
    return truths_[static_cast<std::size_t>(index)];
  }
  // The volumes one after the other, channel by channel, as they are in the file.
  void volumes(std::span<const std::int64_t> indices, float* out);

 private:
  struct Location {
    std::size_t file;
    std::int64_t row;  // in `volumes`; or the number of the cube of `full`
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
  train::SampleCache<std::uint16_t> kept_;  // bf16
  std::vector<float> scratch_;
};

}  // namespace tutti::models::cosmoflow
