// How ranks sit in the machine, as the planner sees it: which share a host, and along which
// dimensions they are arranged. Plain data, made by topo/layout.h.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tutti::topo {

// Sending n bytes takes `latency + n * seconds_per_byte` seconds.
struct Link {
  double latency = 0;
  double seconds_per_byte = 0;
};

struct Dimension {
  std::string name;  // accelerator, socket, node, rack, aisle
  int size = 1;
  Link link;
  bool mapped = false;  // its ranks can map each other's library memory
};

// Ranks in a product of dimensions, fastest link first.
// Even: the product of the sizes is the number of ranks, and ranks[p] is the rank at position p,
// dimension 0 fastest. Uneven hosts: dimension 0 has size 0 ("as many as the host has") and is
// mapped, the other sizes multiply to the number of hosts, and `ranks` lists host after host.
struct Grid {
  std::vector<Dimension> dimensions;
  std::vector<int> ranks;
  std::vector<std::vector<int>> hosts;  // ranks of each host, in the order of `ranks`

  int size() const { return static_cast<int>(ranks.size()); }
  bool is_even() const { return dimensions.empty() || dimensions[0].size > 0; }
  int host_of(int rank) const {
    for (std::size_t h = 0; h < hosts.size(); ++h) {
      for (const int member : hosts[h]) {
        if (member == rank) return static_cast<int>(h);
      }
    }
    return -1;
  }
};

// The ranks that differ only in their coordinate along `dimension`, in its order; every rank is in
// one group. Uneven hosts: along dimension 0 the hosts themselves, along another the ranks of equal
// place on their hosts, so a group is short where a host has fewer ranks.
std::vector<std::vector<int>> groups(const Grid& grid, int dimension);

// "2x4x1x1", as in a mode string; "*x3x1x1" for uneven hosts.
std::string shape_of(const Grid& grid);

}  // namespace tutti::topo
