// Addresses, routes and ports of this host.
#pragma once

#include <optional>
#include <string>

#include "tutti/os/process.h"
#include "tutti/topo/network.h"

namespace tutti::launch {

// Resolves a name to an address, preferring IPv4; nullopt if it has none.
std::optional<std::string> resolve(const std::string& name);

// Interface through which the kernel reaches `address`; nullopt if there is no route or the address is this host's.
std::optional<topo::Interface> route_to(const std::string& address);

// True if `name` refers to this host: localhost, its name, or one of its addresses.
bool is_this_host(const std::string& name);

// Identifies the running kernel; processes with the same boot id share its monotonic clock.
std::string boot_id();

// Returns a non-blocking socket that listens on a free port of `address` only; closed, with errno set, on failure.
// `receive_buffer`: bytes per connection, as far as the system permits; 0: the default.
os::UniqueFd listen_at(const std::string& address, int receive_buffer = 0);
int receive_buffer_of(const os::UniqueFd& socket);
// Returns `port`, or any port for 0, if it can be bound; otherwise 0.
int find_free_port(int port);
int port_of(const os::UniqueFd& socket);
// Connects within `seconds`. On failure the result is closed and `why` has the reason.
os::UniqueFd connect_to(const std::string& address, int port, double seconds, std::string* why);

// Makes the kernel detect a peer host that has lost power within 6 s.
void enable_keepalive(const os::UniqueFd& socket);
// Disables Nagle's algorithm, so small messages leave immediately.
void set_tcp_nodelay(const os::UniqueFd& socket);

// Sends all bytes or returns false.
bool send_all(int socket, const void* data, std::size_t bytes);

}  // namespace tutti::launch
