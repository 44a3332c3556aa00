// What a number was measured on; part of every row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::bench {

struct Machine {
  std::string cpu;   // model name
  std::string simd;  // widest of "avx512", "avx2", "sse2", "neon", or ""
  int cores = 0;     // this process may use
  int sockets = 0;
  std::int64_t l2_bytes = 0;  // of one core
  std::int64_t l3_bytes = 0;  // all that one core can reach
  std::int64_t memory_bytes = 0;
  bool virtual_machine = false;
  std::string kernel;  // "Linux 6.1.0"
  double load = 0;     // processes that ran or wanted to, mean of the last minute
};

// Reads /proc, /sys and uname. What cannot be read stays empty.
Machine describe_machine();

// The part of it that comes from the text of /proc/cpuinfo and /proc/meminfo.
Machine parse_machine(std::string_view cpuinfo, std::string_view meminfo);

// Whether so much else runs that measurements are disturbed.
bool is_busy(const Machine& machine);

// "Intel(R) Xeon(R) Processor, 2 cores, avx512, L2 2MiB, L3 260MiB, 23 GiB, virtual machine,
// Linux 6.1.0"
std::string one_line(const Machine& machine);
// That line, and one more where the machine is busy: how every report begins.
std::string heading(const Machine& machine);

}  // namespace tutti::bench
