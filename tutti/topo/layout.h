// Ranks of each host, and the process grid derived from them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/topo/grid.h"
#include "tutti/topo/identity.h"

namespace tutti::topo {

struct Host {
  std::string name;
  std::vector<int> ranks;         // in the order of the host
  std::vector<int> sockets = {};  // socket of each of `ranks`; empty if unknown

  friend bool operator==(const Host&, const Host&) = default;
};

// Hosts in network order (rack by rack). Valid if every host has a rank, and the ranks are 0 to size()-1, each once.
struct Layout {
  std::vector<Host> hosts;

  int size() const;
  friend bool operator==(const Layout&, const Layout&) = default;
};

// Name of the host of a rank, for messages.
std::string host_name_of(const Layout& layout, int rank);

// Throws ConfigError, which names the rank that is missing, duplicate or without a host.
void check(const Layout& layout);

// Groups ranks that share memory into hosts; identities[r] belongs to rank r. `maps(a, b)`: rank a has mapped memory of
// rank b. Ranks form a host only if their sharing_keys are equal and every pair maps both ways, so one-sided or partial
// success (a container, an unrelated process) only splits the host. Deterministic: ranks that pass the same data get
// the same layout, with hosts ordered by their lowest rank.
using Maps = std::function<bool(int rank, int peer)>;
Layout make_layout(const std::vector<HostIdentity>& identities, const Maps& maps);

// Requested dimensions. Sizes as in a mode string: accelerators [x nodes [x racks [x aisles]]], or five with the
// sockets second. Empty: one dimension per level, with as many accelerators as the hosts have ranks.
struct DimensionRequest {
  std::vector<int> sizes = {};
};

// "2x2x1x1"; "" means automatic. Throws ConfigError with a valid example.
DimensionRequest parse_dimensions(std::string_view text);

// Default link costs before any measurement.
struct LinkTable {
  Link memory = {0.3e-6, 1 / 10e9};  // mapped, within one socket
  Link socket = {0.5e-6, 1 / 8e9};   // mapped, between sockets
  Link node = {30e-6, 1 / 1.2e9};
  Link rack = {35e-6, 1 / 1.1e9};
  Link aisle = {40e-6, 1 / 1.0e9};
};

// The link of a dimension.
Link& link_of(const Dimension& dimension, LinkTable& links);

// Assigns positions to ranks host by host. A dimension is mapped if each of its groups is on one host, so sizes that do
// not follow the hosts also work, with more traffic on the network. Automatic sizes with unequal numbers of ranks per
// host give the uneven form of Grid. Throws ConfigError if the layout is invalid or the sizes do not fit; the message
// suggests sizes that do.
Grid make_grid(const Layout& layout, const DimensionRequest& request = {}, LinkTable links = {});

}  // namespace tutti::topo
