// Data files for trees that are to grow within a limit of memory.
#pragma once

#include <filesystem>

#include "tutti/learn/data/data_file.h"

namespace tutti::learn::tree {

// The features of all chunks, checked, as one matrix in an unnamed file of `folder` that is mapped,
// of which only what is in use is in memory; a file of one chunk is used where it lies. Throws
// IoError as DataFile does, and DDL-9-26 when the folder has no room.
Matrix join_chunks(const DataFile& file, const std::filesystem::path& folder, Threads& threads);

}  // namespace tutti::learn::tree
