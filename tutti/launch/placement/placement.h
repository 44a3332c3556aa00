// Dealing ranks over hosts, sockets and cores.
//
// Every host gets its first rank, then every host its second, and so on: with h hosts that all get
// the same number, rank = place on the host * h + number of the host. A host that has got all of
// its ranks is passed over. On a host, ranks go to the socket of their accelerator, or in blocks
// over the sockets, and share the cores of their socket evenly.
#pragma once

#include <string>
#include <vector>

#include "tutti/launch/hosts/hosts.h"
#include "tutti/launch/placement/rankfile.h"
#include "tutti/topo/machine.h"

namespace tutti::launch {

// 0: not said.
struct Shape {
  int ranks = 0;         // in all
  int accelerators = 0;  // ranks per host
  int aisles = 0, racks = 0, nodes = 0;
  int sockets = 0;  // per host, to use
  int cores = 0;    // per socket, to use
  bool oversubscribe = false;
};

// `machine` is what all hosts look like. Slots of hosts count unless `shape` says otherwise.
// Hosts that get no rank are left out. Throws ConfigError that says what would fit: more ranks
// than cores or accelerators, sockets or cores that are not there, hosts that aisles, racks and
// nodes do not divide.
Rankfile place(const std::vector<Host>& hosts, const topo::Machine& machine, const Shape& shape);

// One per accelerator, or per core that may be used; at least 1.
int natural_ranks(const topo::Machine& machine);

// "p" becomes "p:4x2x1x1" (accelerators x nodes x racks x aisles) where the hosts are even. A mode
// with dimensions stays as it is; throws ConfigError when they do not make the number of ranks.
std::string complete_mode(const std::string& mode, const Rankfile& rankfile);

// "host1:0,4,8,12;host2:1,5,9,13": what ranks find in DDL_HOST_LIST.
std::string host_list_text(const Rankfile& rankfile);

}  // namespace tutti::launch
