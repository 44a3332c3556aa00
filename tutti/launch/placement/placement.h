// Assignment of ranks to hosts, sockets and cores.
//
// 1. The number of ranks per host is the number of accelerators requested, the slots of the host, or one per
//    accelerator or core. If a total is requested, it is distributed cyclically: by slots as long as they last,
//    otherwise evenly.
// 2. Ranks are numbered cyclically over the hosts, as with Open MPI's --map-by node: every host gets its first rank,
//    then every host its second. With h hosts of equal size, rank = index on the host * h + index of the host. A host
//    that has all its ranks is skipped.
// 3. Within a host, a rank goes to the socket of its accelerator. Without accelerators, ranks are assigned to the
//    sockets in blocks.
// 4. The ranks of a socket divide its cores evenly. If there are more ranks than cores, all of them share all cores.
#pragma once

#include <string>
#include <vector>

#include "tutti/launch/hosts/hosts.h"
#include "tutti/launch/placement/rankfile.h"
#include "tutti/topo/machine.h"

namespace tutti::launch {

// Requested layout; 0: not specified.
struct Shape {
  int ranks = 0;         // total
  int accelerators = 0;  // ranks per host
  int aisles = 0, racks = 0, nodes = 0;
  int sockets = 0;  // per host, to use
  int cores = 0;    // per socket, to use
  bool oversubscribe = false;
};

// `machine` is the topology of all hosts. The slots of hosts apply unless `shape` overrides them. Hosts without ranks
// are omitted. Throws ConfigError, which names what would fit, for more ranks than cores or accelerators, missing
// sockets or cores, and a number of hosts that is not divisible by aisles, racks and nodes.
Rankfile place(const std::vector<Host>& hosts, const topo::Machine& machine, const Shape& shape);

// One rank per accelerator, or per allowed core; at least 1.
int natural_ranks(const topo::Machine& machine);

// Completes "p" to "p:4x2x1x1" (accelerators x nodes x racks x aisles) if all hosts have the same number of ranks. A
// mode with dimensions is returned unchanged; throws ConfigError if they do not match the number of ranks.
std::string complete_mode(const std::string& mode, const Rankfile& rankfile);

// "host1:0,4,8,12;host2:1,5,9,13", the value of DDL_HOST_LIST.
std::string host_list_text(const Rankfile& rankfile);

}  // namespace tutti::launch
