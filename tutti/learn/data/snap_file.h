// Data files in the `snap` binary format; docs/formats/snap.md specifies it.
#pragma once

#include <filesystem>

#include "tutti/learn/data/data_set.h"

namespace tutti::learn {

// Reads dense, CSR or CSC matrices. Sparse matrices without values have rows of unit norm. Throws IoError, which
// describes the error; there are no partial results.
DataSet read_snap(const std::filesystem::path& path);

// Writes f32. A sparse matrix without values is written without them if `implicit` is kUnitNorm, otherwise with values
// of 1. Throws ConfigError if a size exceeds 32 bits.
void write_snap(const std::filesystem::path& path, const DataSet& data);

}  // namespace tutti::learn
