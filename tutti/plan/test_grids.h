// Grids for the unit tests of plan.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "tutti/topo/grid.h"

namespace tutti::plan::testing {

// Links that are slower by a factor of ten with each dimension.
inline topo::Link link_of(int dimension) {
  topo::Link link{1e-6, 1e-10};
  for (int d = 0; d < dimension; ++d) link = {link.latency * 10, link.seconds_per_byte * 10};
  return link;
}

// A product of dimensions; the first `mapped` of them are within a host.
inline topo::Grid grid_of(const std::vector<int>& sizes, int mapped = 0) {
  topo::Grid grid;
  int ranks = 1, host_size = 1;
  for (int d = 0; d < static_cast<int>(sizes.size()); ++d) {
    grid.dimensions.push_back({"dimension " + std::to_string(d), sizes[d], link_of(d), d < mapped});
    ranks *= sizes[d];
    if (d < mapped) host_size *= sizes[d];
  }
  grid.ranks.resize(ranks);
  std::iota(grid.ranks.begin(), grid.ranks.end(), 0);
  for (int r = 0; r < ranks; ++r) {
    if (r % host_size == 0) grid.hosts.emplace_back();
    grid.hosts.back().push_back(r);
  }
  return grid;
}

// The same grid with ranks assigned to hosts round-robin: host 0 has ranks 0, H, 2 H, ... for H hosts.
inline topo::Grid round_robin(topo::Grid grid) {
  const int hosts = static_cast<int>(grid.hosts.size());
  grid.ranks.clear();
  for (int h = 0; h < hosts; ++h) {
    for (int i = 0; i < static_cast<int>(grid.hosts[h].size()); ++i) {
      grid.hosts[h][i] = h + i * hosts;
      grid.ranks.push_back(grid.hosts[h][i]);
    }
  }
  return grid;
}

// Hosts with the given numbers of ranks.
inline topo::Grid uneven(const std::vector<int>& host_sizes) {
  topo::Grid grid;
  grid.dimensions = {{"local", 0, link_of(0), true},
                     {"node", static_cast<int>(host_sizes.size()), link_of(1), false}};
  for (const int size : host_sizes) {
    auto& host = grid.hosts.emplace_back();
    for (int i = 0; i < size; ++i) {
      host.push_back(grid.size());
      grid.ranks.push_back(grid.size());
    }
  }
  return grid;
}

}  // namespace tutti::plan::testing
