#include "tutti/topo/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "tutti/core/error.h"

namespace tutti::topo {
namespace {

[[noreturn]] void reject(const std::string& message) {
  throw ConfigError("DDL-2-05", message);
}

// Index of the host of each rank below `size`. Throws unless each rank is on exactly one host.
std::vector<int> hosts_of_ranks(const Layout& layout, int size) {
  std::vector<int> host_of(static_cast<std::size_t>(size), -1);
  for (std::size_t h = 0; h < layout.hosts.size(); ++h) {
    for (const int rank : layout.hosts[h].ranks) {
      if (rank < 0 || rank >= size) {
        reject(fmt::format("Host {} has rank {}, but {} ranks are listed: they must be 0 to {}.",
                           layout.hosts[h].name, rank, size, size - 1));
      }
      int& host = host_of[rank];
      if (host >= 0) {
        reject(fmt::format("Rank {} is listed twice, on {} and on {}. List every rank once.", rank,
                           layout.hosts[host].name, layout.hosts[h].name));
      }
      host = static_cast<int>(h);
    }
  }
  return host_of;
}

}  // namespace

int Layout::size() const {
  return std::accumulate(hosts.begin(), hosts.end(), 0, [](int sum, const Host& host) {
    return sum + static_cast<int>(host.ranks.size());
  });
}

void check(const Layout& layout) {
  if (layout.hosts.empty())
    reject("The layout has no hosts. List at least one host with one rank.");
  for (const Host& host : layout.hosts) {
    if (host.ranks.empty()) {
      reject(fmt::format("Host {} has no ranks. Assign ranks to it, or omit it.", host.name));
    }
    if (!host.sockets.empty() && host.sockets.size() != host.ranks.size()) {
      reject(fmt::format("Host {} lists {} ranks but {} sockets. List one socket per rank.",
                         host.name, host.ranks.size(), host.sockets.size()));
    }
  }
  hosts_of_ranks(layout, layout.size());
}

Layout make_layout(const std::vector<HostIdentity>& identities, const Maps& maps) {
  Layout layout;
  std::map<std::string, std::vector<std::size_t>> hosts_with_key;
  for (int rank = 0; rank < static_cast<int>(identities.size()); ++rank) {
    const HostIdentity& identity = identities[rank];
    std::vector<std::size_t>& candidates = hosts_with_key[sharing_key(identity)];
    const auto takes_rank = [&](std::size_t candidate) {
      return std::ranges::all_of(layout.hosts[candidate].ranks,
                                 [&](int peer) { return maps(rank, peer) && maps(peer, rank); });
    };
    auto found = std::ranges::find_if(candidates, takes_rank);
    if (found == candidates.end()) {
      found = candidates.insert(found, layout.hosts.size());
      layout.hosts.push_back({identity.name, {}, {}});
    }
    layout.hosts[*found].ranks.push_back(rank);
    layout.hosts[*found].sockets.push_back(identity.socket);
  }
  // If the sockets are known for only some ranks, they would form a dimension that does not exist.
  for (Host& host : layout.hosts) {
    if (std::ranges::find(host.sockets, -1) != host.sockets.end()) host.sockets.clear();
  }
  return layout;
}

std::string host_name_of(const Layout& layout, int rank) {
  for (const Host& host : layout.hosts) {
    if (std::find(host.ranks.begin(), host.ranks.end(), rank) != host.ranks.end()) return host.name;
  }
  return "an unknown host";
}

}  // namespace tutti::topo
