// Addresses, routes and ports of this host.
#pragma once

#include <optional>
#include <string>

#include "tutti/os/process.h"
#include "tutti/topo/network.h"

namespace tutti::launch {

// The address of a name, of IPv4 if it has one; nothing when it has none.
std::optional<std::string> resolve(const std::string& name);

// The interface by which the kernel reaches `address`; nothing when there is no route, or when it
// is an address of this host.
std::optional<topo::Interface> route_to(const std::string& address);

// Whether `name` means this machine: localhost, its own name, or one of its addresses.
bool is_this_host(const std::string& name);

// Equal for all processes under one running kernel, which share its monotonic clock.
std::string boot_id();

// A non-blocking socket that listens on a free port of `address`, and on no other address; not open
// when it cannot (errno says why). `receive_buffer`: bytes for each connection, as far as the
// system permits; 0: the default.
os::UniqueFd listen_at(const std::string& address, int receive_buffer = 0);
int receive_buffer_of(const os::UniqueFd& socket);
// Whether `port` could be listened on; 0: whether any could. Returns the port, or 0.
int find_free_port(int port);
int port_of(const os::UniqueFd& socket);
// Connects within `seconds`; not open when it cannot, `why` says so.
os::UniqueFd connect_to(const std::string& address, int port, double seconds, std::string* why);

// Makes the kernel notice within 6 s when the host of the other end has lost its power.
void enable_keepalive(const os::UniqueFd& socket);
// Small messages leave at once.
void set_tcp_nodelay(const os::UniqueFd& socket);

// Sends all or fails.
bool send_all(int socket, const void* data, std::size_t bytes);

}  // namespace tutti::launch
