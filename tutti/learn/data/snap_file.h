// The known `snap` layout of binary data files; docs/formats/snap.md says it byte by byte.
#pragma once

#include <filesystem>

#include "tutti/learn/data/data_set.h"

namespace tutti::learn {

// Dense, sparse, or sparse without values (then every row has length 1), by rows or by columns.
// Throws IoError that says what is wrong; nothing is half-read.
DataSet read_snap(const std::filesystem::path& path);

// f32. Sparse matrices without values are written without them if `implicit` is kUnitNorm, as the
// layout means it so; with values of 1 otherwise. Throws ConfigError when a size has more than 32
// bits.
void write_snap(const std::filesystem::path& path, const DataSet& data);

}  // namespace tutti::learn
