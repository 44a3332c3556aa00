#include "tutti/launch/placement/rankfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "tutti/core/error.h"
#include "tutti/topo/number_list.h"

namespace tutti::launch {
namespace {

std::string slot_text(const RankSlot& slot) {
  const std::string socket = slot.socket < 0 ? "" : fmt::format("{}:", slot.socket);
  if (slot.cores.empty()) return socket + "*";
  const int first = slot.cores.front(), last = slot.cores.back();
  const bool is_range = last - first + 1 == static_cast<int>(slot.cores.size());
  return socket + (is_range ? fmt::format("{}-{}", first, last) : topo::format_list(slot.cores));
}

}  // namespace

std::vector<std::vector<int>> Rankfile::ranks_by_host() const {
  std::unordered_map<std::string_view, std::size_t> index;
  for (std::size_t h = 0; h < hosts.size(); ++h) index.emplace(hosts[h], h);
  std::vector<std::vector<int>> by_host(hosts.size());
  for (int rank = 0; rank < size(); ++rank) {
    const auto found = index.find(ranks[rank].host);
    if (found != index.end()) by_host[found->second].push_back(rank);
  }
  return by_host;
}

std::vector<int> Rankfile::ranks_per_host() const {
  std::vector<int> counts;
  for (const auto& some : ranks_by_host()) counts.push_back(static_cast<int>(some.size()));
  return counts;
}

bool Rankfile::is_even() const {
  const std::vector<int> counts = ranks_per_host();
  return std::ranges::adjacent_find(counts, std::not_equal_to{}) == counts.end();
}

std::string to_text(const Rankfile& rankfile) {
  std::string text = fmt::format("#host = {}\n", fmt::join(rankfile.hosts, ","));
  text += fmt::format("#aisles = {}\n#racks = {}\n#nodes = {}\n", rankfile.aisles, rankfile.racks,
                      rankfile.nodes);
  text += fmt::format("#accelerators = {}\n#sockets = {}\n#cores = {}\n", rankfile.accelerators,
                      rankfile.sockets, rankfile.cores);
  for (const std::vector<int>& ranks : rankfile.ranks_by_host()) {
    text += '\n';
    for (const int rank : ranks) {
      const RankSlot& slot = rankfile.ranks[rank];
      text += fmt::format("rank {}={} slot={}\n", rank, slot.host, slot_text(slot));
    }
  }
  return text;
}

std::vector<topo::Socket> usable_sockets(const topo::Machine& machine) {
  std::vector<topo::Socket> sockets;
  for (const topo::Socket& socket : machine.sockets) {
    topo::Socket usable;
    for (const topo::CpuList& core : socket.cores) {
      topo::CpuList allowed;
      std::ranges::set_intersection(core, machine.allowed_cpus, std::back_inserter(allowed));
      if (!allowed.empty()) usable.cores.push_back(std::move(allowed));
    }
    if (!usable.cores.empty()) sockets.push_back(std::move(usable));
  }
  return sockets;
}

namespace {

std::vector<topo::CpuList> cores_of(int socket, const topo::Machine& machine) {
  const std::vector<topo::Socket> sockets = usable_sockets(machine);
  if (socket >= 0) {
    return socket < static_cast<int>(sockets.size()) ? sockets[socket].cores
                                                     : std::vector<topo::CpuList>{};
  }
  std::vector<topo::CpuList> all;
  for (const topo::Socket& one : sockets) all.insert(all.end(), one.cores.begin(), one.cores.end());
  return all;
}

}  // namespace

void check_fit(const Rankfile& rankfile, std::span<const int> ranks, const topo::Machine& machine) {
  for (const int rank : ranks) {
    const RankSlot& slot = rankfile.ranks[rank];
    const int count = static_cast<int>(cores_of(slot.socket, machine).size());
    const int highest = slot.cores.empty() ? 0 : slot.cores.back();
    if (highest < count) continue;
    const std::string where = slot.socket < 0 ? "" : fmt::format(" on socket {}", slot.socket);
    throw ConfigError(
        "DDL-3-11",
        fmt::format("Rank {} is to run on slot={} of {}, which has {} core{}{}. Correct the "
                    "rankfile or the topology file, or omit it.",
                    rank, slot_text(slot), slot.host, count, count == 1 ? "" : "s", where));
  }
}

topo::CpuList cpus_of(const RankSlot& slot, const topo::Machine& machine) {
  const std::vector<topo::CpuList> cores = cores_of(slot.socket, machine);
  topo::CpuList cpus;
  const auto add = [&](const topo::CpuList& core) {
    cpus.insert(cpus.end(), core.begin(), core.end());
  };
  if (slot.cores.empty()) std::ranges::for_each(cores, add);
  for (const int core : slot.cores) add(cores.at(static_cast<std::size_t>(core)));
  std::ranges::sort(cpus);
  return cpus;
}

}  // namespace tutti::launch
