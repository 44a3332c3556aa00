// HDF5 files with a matrix, labels and weights.
#pragma once

#include <filesystem>
#include <string>

#include "tutti/learn/data/data_set.h"

namespace tutti::learn {

struct Hdf5Names {
  std::string features = "X", labels = "y", weights = "sample_weight";
};

// The matrix (2 dimensions, f32 stays f32, all else becomes f64); labels and weights if they are
// there. Throws IoError that names file, data set and what is wrong; nothing is half-read.
DataSet read_hdf5(const std::filesystem::path& path, const Hdf5Names& names = {});

}  // namespace tutti::learn
