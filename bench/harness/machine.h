// Description of the machine, which is part of every row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::bench {

struct Machine {
  std::string cpu;   // model name
  std::string simd;  // widest of "avx512", "avx2", "sse2", "neon", or ""
  int cores = 0;     // that this process may use
  int sockets = 0;
  std::int64_t l2_bytes = 0;  // of one core
  std::int64_t l3_bytes = 0;  // reachable from one core
  std::int64_t memory_bytes = 0;
  bool virtual_machine = false;
  std::string kernel;  // "Linux 6.1.0"
  double load = 0;     // load average over the last minute
};

// Reads /proc, /sys and uname. Unreadable fields stay empty.
Machine describe_machine();

// The part that comes from the text of /proc/cpuinfo and /proc/meminfo.
Machine parse_machine(std::string_view cpuinfo, std::string_view meminfo);

// True if other programs use so much of the machine that measurements are disturbed.
bool is_busy(const Machine& machine);

// "Intel(R) Xeon(R) Processor, 2 cores, avx512, L2 2MiB, L3 260MiB, 23 GiB, virtual machine, Linux 6.1.0"
std::string one_line(const Machine& machine);
// That line, and a second one if the machine is busy: the heading of every report.
std::string heading(const Machine& machine);

}  // namespace tutti::bench
