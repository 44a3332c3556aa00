// Rankfile: host and cores of each rank. Format: docs/formats/rankfile.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/topo/machine.h"

namespace tutti::launch {

struct RankSlot {
  std::string host;
  int socket = -1;           // -1: cores are numbered over the whole host
  std::vector<int> cores{};  // of the socket, from 0, ascending; empty: all

  friend bool operator==(const RankSlot&, const RankSlot&) = default;
};

struct Rankfile {
  std::vector<std::string> hosts;  // in order
  // Values of the header; 0: not specified.
  int aisles = 0, racks = 0, nodes = 0, accelerators = 0, sockets = 0, cores = 0;
  std::vector<RankSlot> ranks;  // by rank

  int size() const { return static_cast<int>(ranks.size()); }
  // Ranks on each of `hosts`, ascending.
  std::vector<std::vector<int>> ranks_by_host() const;
  // Number of ranks on each of `hosts`.
  std::vector<int> ranks_per_host() const;
  bool is_even() const;
  friend bool operator==(const Rankfile&, const Rankfile&) = default;
};

// Writes the header, then one block per host, in host order.
std::string to_text(const Rankfile& rankfile);

// Parses the output of to_text, and also Open MPI's slot=S:A-B,C, slot=S:* and slot=A-B. Throws ConfigError, which
// names `source`, the line and the expected format, for an invalid line and for a rank that is repeated or missing.
Rankfile parse_rankfile(std::string_view text, const std::string& source = "rankfile");
// Also throws ConfigError if the file cannot be read.
Rankfile read_rankfile(const std::string& path);

// Throws ConfigError if one of `ranks` uses cores that such a machine does not have.
void check_fit(const Rankfile& rankfile, std::span<const int> ranks, const topo::Machine& machine);

// Logical CPUs (as numbered by the kernel) of a rank's cores. The slot must fit the machine.
topo::CpuList cpus_of(const RankSlot& slot, const topo::Machine& machine);

// Usable cores of each socket: those with at least one allowed logical CPU.
std::vector<topo::Socket> usable_sockets(const topo::Machine& machine);

}  // namespace tutti::launch
