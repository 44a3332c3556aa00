// On which hosts a job runs, as the user or the scheduler says.
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
  int slots = 0;          // ranks that it is to get; 0: not said
  std::string user = {};  // to log in as; empty: the current user, or what ssh's configuration says

  friend bool operator==(const Host&, const Host&) = default;
};

// "host1,host2:4,node[01-16],alice@host3,2001:db8::1,[2001:db8::2]:4"; spaces around commas are
// ignored. Throws ConfigError: no host, an invalid name or number, a host twice, too many hosts or
// ranks, or host:22, which more likely means the port of ssh than 22 ranks.
std::vector<Host> parse_host_list(std::string_view text);

// One host per line: "host1", "host1 slots=4", "host1:4"; # starts a comment, and a byte order mark
// is ignored. Throws ConfigError that names file and line, also when it cannot be read or names
// more than kMaxHosts hosts.
std::vector<Host> read_hostfile(const std::filesystem::path& path);

struct Allocation {
  std::string scheduler;  // Slurm, LSF, PBS
  std::vector<Host> hosts;
};

// What the job that this process runs in was given; nothing outside of one. Throws ConfigError when
// the scheduler's words cannot be read.
std::optional<Allocation> find_allocation(const os::Getenv& getenv);

// The user to log in as on all hosts; empty: the current one. Throws ConfigError when the hosts
// name several: MPI logs in as one user everywhere.
std::string common_user(const std::vector<Host>& hosts);

// Throws ConfigError that names the host which is there twice.
void check_unique(const std::vector<Host>& hosts, std::string_view source);

}  // namespace tutti::launch
