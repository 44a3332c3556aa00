// Arrays of NumPy: .npy has one array, .npz several with names.
#pragma once

#include <filesystem>
#include <string_view>

#include "tutti/learn/data/data_set.h"

namespace tutti::learn {

// .npy: a matrix of f32, f64 or whole numbers (become f64), by rows or by columns, as features
// without labels. An f32 or f64 matrix by rows is not copied: it stays mapped.
// Throws IoError that says what is wrong; nothing is half-read.
DataSet read_npy(const std::filesystem::path& path);

// .npz, packed or not: the features are in `X`, or in `data`, `indices`, `indptr` and `shape` as
// scipy.sparse.save_npz writes CSR and CSC; labels in `y`, weights in `sample_weight`, if they are
// there.
DataSet read_npz(const std::filesystem::path& path);

// The same from bytes in memory, which are copied; `name` stands for the file in errors.
DataSet parse_npy(std::string_view bytes, std::string_view name);
DataSet parse_npz(std::string_view bytes, std::string_view name);

}  // namespace tutti::learn
