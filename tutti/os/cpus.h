// CPU affinity.
#pragma once

#include <sched.h>

#include <span>
#include <vector>

namespace tutti::os {

// CPUs that a thread may run on; 0: the calling thread. Empty if there is no such thread.
cpu_set_t affinity_of(pid_t thread = 0);
// Whether the kernel accepts it; errno says why not.
bool set_affinity(const cpu_set_t& cpus, pid_t thread = 0);

cpu_set_t cpu_set_of(std::span<const int> cpus);
// Every number that a cpu_set_t can hold: lets a thread run wherever its cpuset allows.
cpu_set_t any_cpu();

// Numbers of the CPUs that the calling thread may run on, ascending.
std::vector<int> allowed_cpus();
// Their count, at least 1.
int allowed_cpu_count();

}  // namespace tutti::os
