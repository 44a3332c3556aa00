#include "tutti/launch/placement/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

#include "tutti/core/error.h"

namespace tutti::launch {
namespace {

constexpr int kMaxRanks = 1 << 20;  // per job

// Number of cores per socket that ranks may use.
std::vector<int> cores_per_socket(const topo::Machine& machine, const Shape& shape) {
  std::vector<int> counts;
  for (const topo::Socket& socket : usable_sockets(machine)) {
    counts.push_back(static_cast<int>(socket.cores.size()));
  }
  if (counts.empty()) counts.push_back(1);
  const int found = static_cast<int>(counts.size());
  if (shape.sockets > found) {
    throw ConfigError(
        "DDL-3-12", fmt::format("-sockets {}: the maximum is {} per host.", shape.sockets, found));
  }
  if (shape.sockets > 0) counts.resize(shape.sockets);
  const int fewest = *std::ranges::min_element(counts);
  if (shape.cores > fewest) {
    throw ConfigError("DDL-3-12",
                      fmt::format("-cores {}: the maximum is {} per socket.", shape.cores, fewest));
  }
  if (shape.cores > 0) std::ranges::fill(counts, shape.cores);
  return counts;
}

// Assigns ranks to sockets in blocks. Their numbers differ by at most one unless a socket is full.
std::vector<int> distribute_over_sockets(int ranks, const std::vector<int>& cores) {
  std::vector<int> assigned(cores.size(), 0);
  const int all = std::accumulate(cores.begin(), cores.end(), 0);
  for (int left = ranks; left > 0;) {
    for (std::size_t s = 0; s < cores.size() && left > 0; ++s) {
      if (assigned[s] >= cores[s] && ranks <= all) continue;
      ++assigned[s];
      --left;
    }
  }
  std::vector<int> sockets;
  for (std::size_t s = 0; s < cores.size(); ++s)
    sockets.insert(sockets.end(), assigned[s], static_cast<int>(s));
  return sockets;
}

// Socket of each rank of a host.
std::vector<int> sockets_of_ranks(int ranks, const topo::Machine& machine,
                                  const std::vector<int>& cores) {
  std::vector<int> sockets;
  for (int i = 0; i < ranks && ranks <= static_cast<int>(machine.accelerators.size()); ++i) {
    const int socket = machine.accelerators[i].socket;
    if (socket >= 0 && socket < static_cast<int>(cores.size())) sockets.push_back(socket);
  }
  const bool is_known = static_cast<int>(sockets.size()) == ranks;
  return is_known ? sockets : distribute_over_sockets(ranks, cores);
}

// Slots of the ranks of a host; the same for all hosts with this number of ranks.
std::vector<RankSlot> slots_of_host(int ranks, const topo::Machine& machine,
                                    const std::vector<int>& cores) {
  const std::vector<int> sockets = sockets_of_ranks(ranks, machine, cores);
  std::vector<int> next(cores.size(), 0);
  std::vector<RankSlot> slots;
  for (const int socket : sockets) {
    const auto s = static_cast<std::size_t>(socket);
    const int sharers = static_cast<int>(std::ranges::count(sockets, socket));
    const bool is_shared = sharers > cores[s];
    const int share = is_shared ? cores[s] : cores[s] / sharers;
    RankSlot slot{"", socket, std::vector<int>(static_cast<std::size_t>(share))};
    std::iota(slot.cores.begin(), slot.cores.end(), is_shared ? 0 : next[s]);
    next[s] += share;
    slots.push_back(std::move(slot));
  }
  return slots;
}

// Number of ranks per host.
std::vector<int> wanted_ranks(const std::vector<Host>& hosts, const topo::Machine& machine,
                              const Shape& shape, int most) {
  std::vector<int> wanted;
  for (const Host& host : hosts) {
    wanted.push_back(shape.accelerators > 0 ? shape.accelerators
                     : host.slots > 0       ? host.slots
                                            : std::min(natural_ranks(machine), most));
  }
  const auto all = std::accumulate(wanted.begin(), wanted.end(), std::int64_t{0});
  if (shape.ranks == 0 && all > kMaxRanks) {
    throw ConfigError(
        "DDL-3-09",
        fmt::format("{} ranks were requested; the maximum is {}. Request fewer on each host.", all,
                    kMaxRanks));
  }
  if (shape.ranks == 0 || shape.ranks == all) return wanted;
  // A total is requested: distribute it by slots as long as they last, otherwise evenly.
  const bool by_slots =
      shape.ranks < all && std::ranges::all_of(hosts, [](const Host& h) { return h.slots > 0; });
  std::vector<int> assigned(hosts.size(), 0);
  for (int left = shape.ranks; left > 0;) {
    for (std::size_t h = 0; h < hosts.size() && left > 0; ++h) {
      if (by_slots && assigned[h] >= wanted[h]) continue;
      ++assigned[h];
      --left;
    }
  }
  return assigned;
}

void check_room(const Host& host, int ranks, const topo::Machine& machine, int cores,
                const Shape& shape) {
  if (shape.oversubscribe) return;
  const int devices = static_cast<int>(machine.accelerators.size());
  if (devices > 0 && ranks > devices && shape.accelerators > 0) {
    throw ConfigError(
        "DDL-3-12",
        fmt::format(
            "-accelerators {0}: a host has only {1}. Use at most {1}, or add --oversubscribe.",
            ranks, devices));
  }
  if (ranks <= cores) return;
  throw ConfigError("DDL-3-09",
                    fmt::format("{} ranks were requested on {}, which has {} core{}. Use fewer "
                                "ranks, add hosts, or let ranks share cores with --oversubscribe.",
                                ranks, host.name, cores, cores == 1 ? "" : "s"));
}

void set_dimensions(Rankfile* rankfile, const Shape& shape) {
  const int hosts = static_cast<int>(rankfile->hosts.size());
  rankfile->aisles = std::max(shape.aisles, 1);
  rankfile->racks = std::max(shape.racks, 1);
  const int groups = rankfile->aisles * rankfile->racks;
  rankfile->nodes = shape.nodes > 0 ? shape.nodes : hosts / groups;
  if (rankfile->nodes * groups == hosts && rankfile->nodes > 0) return;
  throw ConfigError("DDL-3-08",
                    fmt::format("{} aisles x {} racks x {} nodes are not {} hosts. The product "
                                "of -aisles, -racks and -nodes must be the number of hosts.",
                                rankfile->aisles, rankfile->racks, rankfile->nodes, hosts));
}

}  // namespace

int natural_ranks(const topo::Machine& machine) {
  if (!machine.accelerators.empty()) return static_cast<int>(machine.accelerators.size());
  int cores = 0;
  for (const topo::Socket& socket : usable_sockets(machine))
    cores += static_cast<int>(socket.cores.size());
  if (machine.cpu_quota > 0) cores = std::min(cores, static_cast<int>(machine.cpu_quota));
  return std::max(cores, 1);
}

Rankfile place(const std::vector<Host>& hosts, const topo::Machine& machine, const Shape& shape) {
  const std::vector<int> cores = cores_per_socket(machine, shape);
  const int all_cores = std::accumulate(cores.begin(), cores.end(), 0);
  const std::vector<int> wanted = wanted_ranks(hosts, machine, shape, all_cores);
  Rankfile rankfile;
  std::map<int, std::vector<RankSlot>> slots;  // by number of ranks on a host
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    check_room(hosts[h], wanted[h], machine, all_cores, shape);
    const auto [found, is_new] = slots.try_emplace(wanted[h]);
    if (is_new) found->second = slots_of_host(wanted[h], machine, cores);
    if (wanted[h] > 0) rankfile.hosts.push_back(hosts[h].name);
  }
  const int most = *std::ranges::max_element(wanted);
  for (int place = 0; place < most; ++place) {
    for (std::size_t h = 0; h < hosts.size(); ++h) {
      if (place >= wanted[h]) continue;
      rankfile.ranks.push_back(slots.at(wanted[h])[place]);
      rankfile.ranks.back().host = hosts[h].name;
    }
  }
  set_dimensions(&rankfile, shape);
  rankfile.accelerators = most;
  rankfile.sockets = static_cast<int>(cores.size());
  rankfile.cores = *std::ranges::max_element(cores);
  return rankfile;
}

std::string complete_mode(const std::string& mode, const Rankfile& rankfile) {
  const std::size_t colon = mode.find(':');
  if (colon == mode.npos) {
    const bool is_known =
        rankfile.is_even() && rankfile.nodes > 0 &&
        rankfile.accelerators * rankfile.nodes * rankfile.racks * rankfile.aisles ==
            rankfile.size();
    return !is_known ? mode
                     : fmt::format("{}:{}x{}x{}x{}", mode, rankfile.accelerators, rankfile.nodes,
                                   rankfile.racks, rankfile.aisles);
  }
  std::int64_t product = 1;
  for (std::size_t begin = colon + 1; begin <= mode.size();) {
    const std::size_t end = std::min(mode.find('x', begin), mode.size());
    int size = 0;
    const auto [stop, error] = std::from_chars(mode.data() + begin, mode.data() + end, size);
    const bool is_number = error == std::errc() && stop == mode.data() + end && size > 0;
    product = is_number && product < (1 << 30) ? product * size : -1;
    if (product < 0) break;
    begin = end + 1;
  }
  if (product == rankfile.size()) return mode;
  throw ConfigError(
      "DDL-3-15",
      fmt::format("-mode {}: the product of its dimensions is not {} ranks. Omit them to use the "
                  "detected ones, or write accelerators x nodes x racks x aisles.",
                  mode, rankfile.size()));
}

std::string host_list_text(const Rankfile& rankfile) {
  std::string text;
  const std::vector<std::vector<int>> ranks = rankfile.ranks_by_host();
  for (std::size_t h = 0; h < ranks.size(); ++h) {
    text += fmt::format("{}{}:{}", h == 0 ? "" : ";", rankfile.hosts[h], fmt::join(ranks[h], ","));
  }
  return text;
}

}  // namespace tutti::launch
