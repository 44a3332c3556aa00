#include "tutti/topo/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tutti/core/error.h"
#include "tutti/os/cpus.h"
#include "tutti/os/environment.h"

namespace tutti::topo {
namespace {

std::string first_word_of(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

// "4026531840" for the link "net:[4026531840]".
std::string namespace_number(const char* kind) {
  std::error_code error;
  const std::string link =
      std::filesystem::read_symlink(fmt::format("/proc/self/ns/{}", kind), error).string();
  const std::size_t begin = link.find('['), end = link.find(']');
  return error || begin == link.npos || end == link.npos ? ""
                                                         : link.substr(begin + 1, end - begin - 1);
}

// From sysfs instead of hwloc: every rank calls this at the start, and full discovery takes much longer.
int bound_socket() {
  std::set<std::string> sockets;
  for (const int cpu : os::allowed_cpus()) {
    sockets.insert(first_word_of(
        fmt::format("/sys/devices/system/cpu/cpu{}/topology/physical_package_id", cpu)));
    if (sockets.size() > 1) return -1;
  }
  if (sockets.empty() || sockets.begin()->empty()) return -1;
  return std::atoi(sockets.begin()->c_str());
}

// Spaces separate the fields of the text form.
std::string without_spaces(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c <= ' '; }, '_');
  return text;
}

}  // namespace

HostIdentity this_host_identity() {
  const char* const host_id = std::getenv("TUTTI_HOST_ID");
  return {.name = without_spaces(os::host_name()),
          .boot_id = first_word_of("/proc/sys/kernel/random/boot_id"),
          .network_namespace = namespace_number("net"),
          .pid_namespace = namespace_number("pid"),
          .host_id = without_spaces(host_id ? host_id : ""),
          .socket = bound_socket()};
}

std::string to_text(const HostIdentity& identity) {
  return fmt::format("name={} boot={} network={} processes={} id={} socket={}",
                     without_spaces(identity.name), identity.boot_id, identity.network_namespace,
                     identity.pid_namespace, without_spaces(identity.host_id), identity.socket);
}

HostIdentity parse_identity(std::string_view text) {
  HostIdentity identity;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const std::string value = equals == word.npos ? "" : word.substr(equals + 1);
    if (key == "name") {
      identity.name = value;
    } else if (key == "boot") {
      identity.boot_id = value;
    } else if (key == "network") {
      identity.network_namespace = value;
    } else if (key == "processes") {
      identity.pid_namespace = value;
    } else if (key == "id") {
      identity.host_id = value;
    } else if (key == "socket") {
      identity.socket = std::atoi(value.c_str());
    } else {
      throw ConfigError(
          "DDL-2-16", fmt::format("'{}' is not a host identity: unknown field '{}'. All ranks must "
                                  "run the same version of the library.",
                                  text, word));
    }
  }
  return identity;
}

std::string sharing_key(const HostIdentity& identity) {
  if (!identity.host_id.empty()) return "id " + identity.host_id;
  // Without boot ids only the name is available; the memory probe that follows is authoritative.
  return fmt::format("{} {} {}", identity.boot_id.empty() ? identity.name : identity.boot_id,
                     identity.network_namespace, identity.pid_namespace);
}

}  // namespace tutti::topo
