// How much memory is left. The kernel promises more than it has and then kills somebody, so
// whatever is large asks here first.
#pragma once

#include <string>

namespace tutti::train {

// Bytes that this process can still take: what the machine has available, what the tightest of its
// control groups leaves, what its own limit (ulimit -v) does. Reads /proc and /sys below `root`
// (tests bring their own); what cannot be read limits nothing.
double free_memory(const std::string& root = "");

}  // namespace tutti::train
