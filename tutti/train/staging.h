// Staging of data files from shared storage to the local disks of all hosts; each file is read once.
#pragma once

#include <filesystem>

#include "tutti/comm/communicator.h"

namespace tutti::train {

// The files of `source`, including subdirectories, are divided among the ranks. A rank broadcasts each of its files,
// and the first rank of each host writes it below `local`. Files that every host already has with the right size are
// skipped. Files are written atomically. Collective; returns `local`. Throws IoError if a file cannot be read or
// written.
std::filesystem::path stage_files(comm::Communicator& communicator,
                                  const std::filesystem::path& source,
                                  const std::filesystem::path& local);

}  // namespace tutti::train
