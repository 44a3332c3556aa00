// Hosts of a job, from the user or the scheduler.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/os/environment.h"

namespace tutti::launch {

struct Host {
  std::string name;
  int slots = 0;          // number of ranks; 0: not specified
  std::string user = {};  // to log in as; empty: current user or ssh's configuration

  friend bool operator==(const Host&, const Host&) = default;
};

// Parses "host1,host2:4,node[01-16],alice@host3,2001:db8::1,[2001:db8::2]:4"; spaces around commas are ignored. Throws
// ConfigError for an empty list, an invalid name or number, a repeated host, too many hosts or ranks, and host:22,
// which is more likely the port of ssh than 22 ranks.
std::vector<Host> parse_host_list(std::string_view text);

// Reads one host per line: "host1", "host1 slots=4" or "host1:4". # starts a comment; a byte order mark is ignored.
// Throws ConfigError, which names file and line, also if the file cannot be read or has more than kMaxHosts hosts.
std::vector<Host> read_hostfile(const std::filesystem::path& path);

struct Allocation {
  std::string scheduler;  // Slurm, LSF, PBS
  std::vector<Host> hosts;
};

// Hosts that the scheduler has allocated to the job of this process; nullopt outside of a job. Throws ConfigError if
// the scheduler's variables cannot be parsed.
std::optional<Allocation> find_allocation(const os::Getenv& getenv);

// User to log in as on all hosts; empty: the current one. Throws ConfigError if the hosts name several users, because
// MPI logs in as the same user everywhere.
std::string common_user(const std::vector<Host>& hosts);

// Throws ConfigError, which names the host, if a host is listed twice.
void check_unique(const std::vector<Host>& hosts, std::string_view source);

}  // namespace tutti::launch
