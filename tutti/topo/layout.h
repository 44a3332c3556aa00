// Which ranks sit on which host, and the grid that the planner gets from it.
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
  std::vector<int> ranks;         // in the order in which they sit on the host
  std::vector<int> sockets = {};  // of each of `ranks`; empty when not known

  friend bool operator==(const Host&, const Host&) = default;
};

// Hosts in the order in which the network joins them (racks one after the other). Valid: every host
// has a rank, and the ranks are 0 to size()-1, each once.
struct Layout {
  std::vector<Host> hosts;

  int size() const;
  friend bool operator==(const Layout&, const Layout&) = default;
};

// The name of the host that a rank is on, for messages.
std::string host_name_of(const Layout& layout, int rank);

// Throws ConfigError that names the rank which is missing, double or without host.
void check(const Layout& layout);

// Groups ranks that share memory into hosts; identities[r] is that of rank r. `maps(a, b)`: rank a
// has in fact mapped memory of rank b. Ranks are together only when their sharing_keys are equal
// and each pair among them maps both ways, so one-sided or partial success (a container, a
// stranger's process) splits the host and never harms. Pure and in rank order: ranks that pass the
// same facts get the same layout, hosts by their lowest rank.
using Maps = std::function<bool(int rank, int peer)>;
Layout make_layout(const std::vector<HostIdentity>& identities, const Maps& maps);

// The dimensions that the user wants. Sizes as in a mode string: accelerators [x nodes [x racks [x
// aisles]]], or five with the sockets second. Empty: one dimension per level, as many accelerators
// as the hosts have ranks.
struct DimensionRequest {
  std::vector<int> sizes = {};
};

// "2x2x1x1"; "" asks for the automatic form. Throws ConfigError that says what to write.
DimensionRequest parse_dimensions(std::string_view text);

// What a message costs by the way it takes, before anything is measured.
struct LinkTable {
  Link memory = {0.3e-6, 1 / 10e9};  // mapped, on one socket
  Link socket = {0.5e-6, 1 / 8e9};   // mapped, between sockets
  Link node = {30e-6, 1 / 1.2e9};
  Link rack = {35e-6, 1 / 1.1e9};
  Link aisle = {40e-6, 1 / 1.0e9};
};

// The entry of a dimension.
Link& link_of(const Dimension& dimension, LinkTable& links);

// Ranks take their positions host after host. A dimension is mapped when each of its groups lies on
// one host, so sizes that do not follow the hosts work too, only with more of them over the
// network. Automatic sizes on hosts with unequal numbers of ranks give the uneven form of Grid.
// Throws ConfigError when the layout is not valid or the sizes do not fit; it says which sizes
// would.
Grid make_grid(const Layout& layout, const DimensionRequest& request = {}, LinkTable links = {});

}  // namespace tutti::topo
