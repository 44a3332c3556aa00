// CPU affinity.
#pragma once

#include <sched.h>

#include <span>
#include <vector>

namespace tutti::os {

// Affinity mask of a thread; 0: the calling thread. Empty if the thread does not exist.
cpu_set_t affinity_of(pid_t thread = 0);
// Sets the affinity mask. Returns false and sets errno if the kernel refuses it.
bool set_affinity(const cpu_set_t& cpus, pid_t thread = 0);

cpu_set_t cpu_set_of(std::span<const int> cpus);
// The full mask. Setting it lets a thread run on every CPU of its cpuset.
cpu_set_t any_cpu();

// Logical CPUs that the calling thread may run on, in ascending order.
std::vector<int> allowed_cpus();
// Number of these CPUs, at least 1.
int allowed_cpu_count();

}  // namespace tutti::os
