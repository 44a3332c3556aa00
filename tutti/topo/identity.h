// Identity of the host of a process. Ranks exchange it to determine which of them share memory.
#pragma once

#include <string>
#include <string_view>

namespace tutti::topo {

// Unknown fields are empty. The name is for messages only: two hosts may have the same name, and one host may have
// several.
struct HostIdentity {
  std::string name = {};
  // Boot id of the running kernel; the same in all its containers.
  std::string boot_id = {};
  // A process in a different network namespace counts as another host (containers, testbeds).
  std::string network_namespace = {};
  // Ranks in different PID namespaces cannot see each other's files in /proc.
  std::string pid_namespace = {};
  // Value of TUTTI_HOST_ID; if set, it replaces the fields above.
  std::string host_id = {};
  // The socket this process is bound to; -1 if it may use several.
  int socket = -1;

  friend bool operator==(const HostIdentity&, const HostIdentity&) = default;
};

// Identity of the host of the calling process. Never fails: fields that the system does not provide stay empty.
HostIdentity this_host_identity();

// The identity as one line. parse_identity is the inverse and throws ConfigError for anything else.
std::string to_text(const HostIdentity& identity);
HostIdentity parse_identity(std::string_view text);

// Equal for ranks that may be on one host, which then try to map each other's memory.
std::string sharing_key(const HostIdentity& identity);

}  // namespace tutti::topo
