// On which hosts a job runs, as the user or the scheduler says.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::launch {

struct Host {
  std::string name;
  int slots = 0;  // ranks that it is to get; 0: not said

  friend bool operator==(const Host&, const Host&) = default;
};

// "host1,host2:4,node[01-16]". Throws ConfigError: no host, a name that is none, a number that is
// none, a host twice.
std::vector<Host> parse_host_list(std::string_view text);

// One host per line: "host1", "host1 slots=4", "host1:4"; # starts a comment. Throws ConfigError
// that names file and line, also when it cannot be read.
std::vector<Host> read_hostfile(const std::filesystem::path& path);

// The value of an environment variable; tests pass their own.
using Getenv = std::function<const char*(const char*)>;

struct Allocation {
  std::string scheduler;  // Slurm, LSF, PBS
  std::vector<Host> hosts;
};

// What the job that this process runs in was given; nothing outside of one. Throws ConfigError when
// the scheduler's words cannot be read.
std::optional<Allocation> find_allocation(const Getenv& getenv);

// Throws ConfigError that names the host which is there twice.
void check_unique(const std::vector<Host>& hosts, std::string_view source);

}  // namespace tutti::launch
