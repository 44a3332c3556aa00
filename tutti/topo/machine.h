// What one host looks like inside, and which part of it this process may use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::topo {

// Numbers of processing units (hardware threads) as the operating system counts them, rising.
using CpuList = std::vector<int>;

struct Socket {
  std::vector<CpuList> cores;  // the processing units of each core

  friend bool operator==(const Socket&, const Socket&) = default;
};

struct NumaNode {
  int socket = -1;  // -1: belongs to none or to several
  CpuList cpus = {};
  std::int64_t memory = 0;  // bytes

  friend bool operator==(const NumaNode&, const NumaNode&) = default;
};

// All caches of one level and kind that are alike.
struct Cache {
  int level = 1;
  std::string kind = "unified";  // data, instruction, unified
  std::int64_t bytes = 0;
  int count = 1;
  int shared_by = 1;  // processing units per cache

  friend bool operator==(const Cache&, const Cache&) = default;
};

struct Accelerator {
  std::string name = {};  // nvidia0, opencl0d0, ...
  std::string model = "unknown";
  int socket = -1;          // the nearest, -1 when not known
  std::int64_t memory = 0;  // bytes, 0 when not known

  friend bool operator==(const Accelerator&, const Accelerator&) = default;
};

struct Machine {
  std::string name;
  std::string cpu_model = "unknown";
  std::int64_t memory = 0;  // bytes
  CpuList allowed_cpus;     // that this process may run on
  double cpu_quota = 0;     // processors' worth of time that its control group allows; 0: no limit
  std::vector<Socket> sockets;
  std::vector<NumaNode> numa_nodes;
  std::vector<Cache> caches;  // by level
  std::vector<Accelerator> accelerators;

  int core_count() const;
  int cpu_count() const;  // processing units
  // How many ranks can run at the same time without sharing a processing unit; at least 1.
  int usable_cpus() const;
  friend bool operator==(const Machine&, const Machine&) = default;
};

// Of this host, for the calling process. Throws IoError when the topology cannot be found.
Machine discover_machine();

// Of a host that does not exist, from an hwloc description such as "pack:2 l3:1 core:16 pu:2".
// Throws ConfigError when it is not one.
Machine synthetic_machine(const std::string& description);

// Short, the same for hosts on which the same choices are fast: "intel-xeon-1s-2c-2t-l2-2MiB-8GiB".
// Letters, digits, '.' and '-' only; made of processors, caches and memory (to the nearest power of
// two), not of names, accelerators or what this process may use.
std::string tuning_key(const Machine& machine);

// Every way in which two hosts differ, one sentence each; names and differences of less than 2 % in
// memory are none.
std::vector<std::string> differences(const Machine& a, const Machine& b);

// The form of docs/formats/topology.md. parse_machine gives back what to_text was given and throws
// ConfigError that names `source`, the line and what would be right.
std::string to_text(const Machine& machine);
Machine parse_machine(std::string_view text, const std::string& source = "machine");

}  // namespace tutti::topo
