#include "tutti/launch/placement/rank_identity.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tutti/topo/number_list.h"

namespace tutti::launch {
namespace {

// Ranks of the host that has `rank`, from "a:0,2;b:1,3".
std::vector<int> companions(const char* host_list, int rank) {
  std::istringstream hosts(host_list ? host_list : "");
  for (std::string host; std::getline(hosts, host, ';');) {
    const std::size_t colon = host.rfind(':');
    if (colon == host.npos) continue;
    std::vector<int> ranks = topo::parse_list(host.substr(colon + 1));
    if (std::ranges::find(ranks, rank) != ranks.end()) return ranks;
  }
  return {};
}

}  // namespace

std::optional<os::RankIdentity> find_rank(const os::Getenv& getenv) {
  std::optional<os::RankIdentity> identity = os::find_rank(getenv);
  if (!identity) return identity;
  const std::vector<int> here = companions(getenv("DDL_HOST_LIST"), identity->rank);
  if (here.empty()) return identity;
  identity->local_rank = static_cast<int>(std::ranges::find(here, identity->rank) - here.begin());
  identity->local_size = static_cast<int>(here.size());
  return identity;
}

}  // namespace tutti::launch
