// Hardware of one host, and the part of it that this process may use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::topo {

// Logical CPUs (hardware threads) as numbered by the operating system, ascending.
using CpuList = std::vector<int>;

struct Socket {
  std::vector<CpuList> cores;  // logical CPUs of each core

  friend bool operator==(const Socket&, const Socket&) = default;
};

struct NumaNode {
  int socket = -1;  // -1: none or several
  CpuList cpus = {};
  std::int64_t memory = 0;  // bytes

  friend bool operator==(const NumaNode&, const NumaNode&) = default;
};

// All identical caches of one level and kind.
struct Cache {
  int level = 1;
  std::string kind = "unified";  // data, instruction, unified
  std::int64_t bytes = 0;
  int count = 1;
  int shared_by = 1;  // logical CPUs per cache

  friend bool operator==(const Cache&, const Cache&) = default;
};

struct Accelerator {
  std::string name = {};  // nvidia0, opencl0d0, ...
  std::string model = "unknown";
  int socket = -1;          // nearest socket; -1: unknown
  std::int64_t memory = 0;  // bytes; 0: unknown

  friend bool operator==(const Accelerator&, const Accelerator&) = default;
};

struct Machine {
  std::string name;
  std::string cpu_model = "unknown";
  std::int64_t memory = 0;  // bytes
  CpuList allowed_cpus;     // CPUs this process may run on
  double cpu_quota = 0;     // CPU limit of the cgroup, in CPUs; 0: no limit
  std::vector<Socket> sockets;
  std::vector<NumaNode> numa_nodes;
  std::vector<Cache> caches;  // by level
  std::vector<Accelerator> accelerators;

  int core_count() const;
  int cpu_count() const;  // logical CPUs
  // Number of ranks that can run concurrently without sharing a logical CPU; at least 1.
  int usable_cpus() const;
  friend bool operator==(const Machine&, const Machine&) = default;
};

// The machine of the calling process. Throws IoError if the topology cannot be determined.
Machine discover_machine();

// A synthetic machine from an hwloc description such as "pack:2 l3:1 core:16 pu:2". Throws ConfigError if the
// description is invalid.
Machine synthetic_machine(const std::string& description);

// Short key that is equal for hosts on which the same choices are fast: "intel-xeon-1s-2c-2t-l2-2MiB-8GiB". Contains
// only letters, digits, '.' and '-'. Depends on CPUs, caches and memory (to the nearest power of two), not on names,
// accelerators or CPU limits.
std::string tuning_key(const Machine& machine);

// Differences between two hosts, one message each. Ignores names and differences in memory below 2 %.
std::vector<std::string> differences(const Machine& a, const Machine& b);

// The format of docs/formats/topology.md. parse_machine is the inverse; it throws ConfigError with `source`, the line
// and the expected text.
std::string to_text(const Machine& machine);
Machine parse_machine(std::string_view text, const std::string& source = "machine");

}  // namespace tutti::topo
