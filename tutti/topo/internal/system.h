// What the files of a Linux system tell that hwloc does not. `root` is "/" but in tests.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tutti/topo/machine.h"

namespace tutti::topo::internal {

// Processors' worth of time that the control groups of this process allow: the smallest limit from
// its own group up to the root, of version 2 and of the cpu controller of version 1. 0 when there
// is none or it cannot be read.
double cpu_quota(const std::filesystem::path& root = "/");

// Accelerators by their device files (/dev/nvidia0, /dev/accel/accel0, ...), for systems whose
// hwloc has no plugin for them; only names are known.
std::vector<Accelerator> accelerators_in(const std::filesystem::path& root = "/");

// From what `lstopo --of xml` writes.
Machine machine_from_xml(const std::string& xml);

}  // namespace tutti::topo::internal
