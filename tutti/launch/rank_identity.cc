#include "tutti/launch/rank_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "tutti/topo/number_list.h"

namespace tutti::launch {
namespace {

struct Variables {
  const char *rank, *size, *local_rank, *local_size;
};

constexpr Variables kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""},
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
};

std::optional<int> number(const Getenv& getenv, const char* name) {
  const char* const text = getenv(name);
  int value = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
  return error == std::errc() && *end == 0 ? std::optional(value) : std::nullopt;
}

// The ranks of the host that has `rank`, from "a:0,2;b:1,3".
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

std::optional<RankIdentity> find_rank(const Getenv& getenv) {
  for (const Variables& names : kLaunchers) {
    const auto rank = number(getenv, names.rank), size = number(getenv, names.size);
    if (!rank || !size) continue;
    RankIdentity identity{*rank, *size};
    const std::vector<int> here = companions(getenv("DDL_HOST_LIST"), *rank);
    if (here.empty()) {
      identity.local_rank = number(getenv, names.local_rank).value_or(0);
      identity.local_size = number(getenv, names.local_size).value_or(1);
    } else {
      identity.local_rank = static_cast<int>(std::ranges::find(here, *rank) - here.begin());
      identity.local_size = static_cast<int>(here.size());
    }
    return identity;
  }
  return std::nullopt;
}

void forget_rank() {
  for (const Variables& names : kLaunchers) {
    for (const char* name : {names.rank, names.size, names.local_rank, names.local_size}) {
      if (*name) ::unsetenv(name);
    }
  }
}

Environment torch_variables(const RankIdentity& identity) {
  return {{"RANK", fmt::format("{}", identity.rank)},
          {"WORLD_SIZE", fmt::format("{}", identity.size)},
          {"LOCAL_RANK", fmt::format("{}", identity.local_rank)},
          {"LOCAL_WORLD_SIZE", fmt::format("{}", identity.local_size)}};
}

}  // namespace tutti::launch
