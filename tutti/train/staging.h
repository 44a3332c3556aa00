// Copies a folder of data from shared storage to the local disks of all hosts, each file read once.
#pragma once

#include <filesystem>

#include "tutti/comm/communicator.h"

namespace tutti::train {

// The ranks share the files of `source` (and of the folders in it) among them; who reads one passes
// it to all, and the first rank of each host writes it below `local`. Files that every host already
// has at the right size are not read again. Collective; returns `local`. A file has its name only
// when it is whole. Throws IoError when a file cannot be read or written.
std::filesystem::path stage_files(comm::Communicator& communicator,
                                  const std::filesystem::path& source,
                                  const std::filesystem::path& local);

}  // namespace tutti::train
