// Which host a process runs on, in a form that ranks exchange to find out who shares memory.
#pragma once

#include <string>
#include <string_view>

namespace tutti::topo {

// What is not known is empty. Names are for messages only: two hosts may have the same, and one
// host may have several.
struct HostIdentity {
  std::string name = {};
  // Of the running kernel; the same in all its containers.
  std::string boot_id = {};
  // A network of its own makes a host of its own (containers, test beds).
  std::string network_namespace = {};
  // Ranks in different ones cannot see each other's files in /proc.
  std::string pid_namespace = {};
  // What TUTTI_HOST_ID says; where set, it decides in place of the above.
  std::string host_id = {};
  // The one socket this process is bound to, -1 when it may use several.
  int socket = -1;

  friend bool operator==(const HostIdentity&, const HostIdentity&) = default;
};

// Of the calling process. Never fails: what the system hides stays empty.
HostIdentity this_host_identity();

// One line without spaces at its ends, to be exchanged. parse_identity throws ConfigError on
// anything else.
std::string to_text(const HostIdentity& identity);
HostIdentity parse_identity(std::string_view text);

// Equal for ranks that may be on one host, so that it is worth to try mapping each other's memory.
std::string sharing_key(const HostIdentity& identity);

}  // namespace tutti::topo
