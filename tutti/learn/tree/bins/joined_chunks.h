// Data files as one mapped matrix, for trees that grow within a memory limit.
#pragma once

#include <filesystem>

#include "tutti/learn/data/data_file.h"

namespace tutti::learn::tree {

// Verifies the features of all chunks and joins them to one matrix in a mapped, unnamed file in `folder`; only the
// pages in use are in memory. A file of one chunk is used directly. Throws IoError as DataFile does, and DDL-9-26 if
// there is not enough space.
Matrix join_chunks(const DataFile& file, const std::filesystem::path& folder, Threads& threads);

}  // namespace tutti::learn::tree
