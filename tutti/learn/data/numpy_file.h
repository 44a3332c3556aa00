// NumPy files: .npy contains one array, .npz several named arrays.
#pragma once

#include <filesystem>
#include <string_view>

#include "tutti/learn/data/data_set.h"

namespace tutti::learn {

// Reads a matrix of f32, f64 or integers (converted to f64), in C or Fortran order, as features without labels. f32 and
// f64 in C order are mapped, not copied. Throws IoError, which describes the error; there are no partial results.
DataSet read_npy(const std::filesystem::path& path);

// Reads a compressed or uncompressed .npz file. Features: `X`, or `data`, `indices`, `indptr` and `shape` as written by
// scipy.sparse.save_npz (CSR, CSC). Optional labels: `y`; optional weights: `sample_weight`. Throws as
// read_npy.
DataSet read_npz(const std::filesystem::path& path);

// Decode bytes in memory, which are copied; `name` replaces the file name in error messages. Throw as read_npy.
DataSet parse_npy(std::string_view bytes, std::string_view name);
DataSet parse_npz(std::string_view bytes, std::string_view name);

}  // namespace tutti::learn
