// Information from the files of a Linux system that hwloc does not provide. `root` is "/" except in tests.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tutti/topo/machine.h"

namespace tutti::topo::internal {

// CPU time that the cgroups of this process allow, in CPUs: the smallest limit from its cgroup up to the root, of
// cgroup v2 and of the cpu controller of v1. 0 if there is no limit or it cannot be read.
double cpu_quota(const std::filesystem::path& root = "/");

// Accelerators found by their device files (/dev/nvidia0, /dev/accel/accel0, ...), for systems whose hwloc has no
// plugin for them. Only the names are known.
std::vector<Accelerator> accelerators_in(const std::filesystem::path& root = "/");

// Parses the output of `lstopo --of xml`.
Machine machine_from_xml(const std::string& xml);

}  // namespace tutti::topo::internal
