#include "tutti/os/cpus.h"

#include <algorithm>
#include <cstring>

namespace tutti::os {

cpu_set_t affinity_of(pid_t thread) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  ::sched_getaffinity(thread, sizeof cpus, &cpus);
  return cpus;
}

bool set_affinity(const cpu_set_t& cpus, pid_t thread) {
  return ::sched_setaffinity(thread, sizeof cpus, &cpus) == 0;
}

cpu_set_t cpu_set_of(std::span<const int> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  return set;
}

cpu_set_t any_cpu() {
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);
  return all;
}

std::vector<int> allowed_cpus() {
  const cpu_set_t allowed = affinity_of();
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  return cpus;
}

int allowed_cpu_count() {
  const cpu_set_t allowed = affinity_of();
  return std::max(1, CPU_COUNT(&allowed));
}

}  // namespace tutti::os
