// HDF5 files with a matrix and optional labels and weights.
#pragma once

#include <filesystem>
#include <string>

#include "tutti/learn/data/data_set.h"

namespace tutti::learn {

struct Hdf5Names {
  std::string features = "X", labels = "y", weights = "sample_weight";
};

// Reads a two-dimensional matrix (f32 is kept, other types become f64), and labels and weights if they exist. Throws
// IoError, which names file, dataset and error; there are no partial results.
DataSet read_hdf5(const std::filesystem::path& path, const Hdf5Names& names = {});

}  // namespace tutti::learn
