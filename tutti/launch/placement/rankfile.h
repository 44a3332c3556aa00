// The rankfile: which rank runs on which host and on which of its cores. docs/formats/rankfile.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/topo/machine.h"

namespace tutti::launch {

struct RankSlot {
  std::string host;
  int socket = -1;           // -1: cores are counted over the whole host
  std::vector<int> cores{};  // of the socket, from 0, rising; empty: all of them

  friend bool operator==(const RankSlot&, const RankSlot&) = default;
};

struct Rankfile {
  std::vector<std::string> hosts;  // in order
  // What the header tells; 0: not said.
  int aisles = 0, racks = 0, nodes = 0, accelerators = 0, sockets = 0, cores = 0;
  std::vector<RankSlot> ranks;  // by rank

  int size() const { return static_cast<int>(ranks.size()); }
  // The ranks on each of `hosts`, rising.
  std::vector<std::vector<int>> ranks_by_host() const;
  // Their numbers.
  std::vector<int> ranks_per_host() const;
  bool is_even() const;
  friend bool operator==(const Rankfile&, const Rankfile&) = default;
};

// Header, then one block per host, in host order.
std::string to_text(const Rankfile& rankfile);

// The inverse, and what Open MPI takes besides: slot=S:A-B,C, slot=S:*, slot=A-B. Throws
// ConfigError that names `source`, the line and what would be right: a line that is none, a rank
// twice or missing.
Rankfile parse_rankfile(std::string_view text, const std::string& source = "rankfile");
// Also throws ConfigError when the file cannot be read.
Rankfile read_rankfile(const std::string& path);

// Throws ConfigError when one of `ranks` is to run on cores that such a machine does not have.
void check_fit(const Rankfile& rankfile, std::span<const int> ranks, const topo::Machine& machine);

// The processing units of a rank's cores, as the operating system counts them; the slot must fit.
topo::CpuList cpus_of(const RankSlot& slot, const topo::Machine& machine);

// The cores of each socket that a process may use: those with an allowed processing unit.
std::vector<topo::Socket> usable_sockets(const topo::Machine& machine);

}  // namespace tutti::launch
