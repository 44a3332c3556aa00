// Process grid for the planner: the ranks of each host, and the dimensions along which ranks are arranged. Plain data,
// created by topo/layout.h.
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
  bool mapped = false;  // ranks can map each other's library memory
};

// Ranks in a product of dimensions, fastest link first.
// - Even: the product of the sizes is the number of ranks, and ranks[p] is the rank at position p, dimension 0 fastest.
// - Uneven hosts: dimension 0 has size 0 ("ranks of the host") and is mapped, the product of the other sizes is the
//   number of hosts, and `ranks` lists host by host.
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

// Groups of ranks that differ only in their coordinate along `dimension`, in its order. Every rank is in one group.
// Uneven hosts: along dimension 0 a group is a host; along another dimension it has the ranks with the same index on
// their hosts, so it is shorter if a host has fewer ranks.
std::vector<std::vector<int>> groups(const Grid& grid, int dimension);

// "2x4x1x1", as in a mode string; "*x3x1x1" for uneven hosts.
std::string shape_of(const Grid& grid);

}  // namespace tutti::topo
