#include "tutti/launch/hosts/hosts.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>
#include <unordered_set>

#include "tutti/core/error.h"
#include "tutti/launch/hosts/node_list.h"

namespace tutti::launch {
namespace {

constexpr int kMostSlots = 1 << 20;

int parse_slots(std::string_view text, std::string_view source) {
  int slots = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slots);
  if (error != std::errc() || end != text.data() + text.size() || slots < 1 || slots > kMostSlots) {
    throw ConfigError("DDL-3-05",
                      fmt::format("{}: '{}' is not a number of ranks on a host. Write for "
                                  "example host1:4.",
                                  source, text));
  }
  return slots;
}

// ssh would parse a leading dash as an option.
bool is_user_name(std::string_view text) {
  return !text.empty() && !text.starts_with('-') && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || c == '.' || c == '-' || c == '_';
  });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// "host:22" is more likely the port of ssh.
void check_port(std::string_view text, std::string_view source) {
  if (!text.ends_with(":22")) return;
  const std::string_view name = text.substr(0, text.size() - 3);
  throw ConfigError("DDL-3-05",
                    fmt::format("{}: '{}' would mean 22 ranks on {}. Omit port 22; write other "
                                "ports in ~/.ssh/config. For 22 ranks use a hostfile "
                                "with '{} slots=22'.",
                                source, text, name, name));
}

// End of the address in "2001:db8::1" or "[2001:db8::1]:4"; 0 if the text is a name.
std::size_t end_of_address(std::string_view text) {
  const bool is_bracketed = text.starts_with('[');
  const std::size_t end = is_bracketed ? text.find(']') : text.size();
  if (end == text.npos) return 0;
  const std::string address(text.substr(is_bracketed, end - is_bracketed));
  in6_addr ignored;
  return ::inet_pton(AF_INET6, address.c_str(), &ignored) == 1 ? end + is_bracketed : 0;
}

std::vector<Host> parse_address(std::string_view text, std::size_t end, std::string_view source) {
  Host host{std::string(text.substr(0, end))};
  if (host.name.starts_with('[')) host.name = host.name.substr(1, host.name.size() - 2);
  const std::string_view rest = text.substr(end);
  if (!rest.empty()) host.slots = parse_slots(rest.substr(rest.starts_with(':')), source);
  return {host};
}

// Parses "name", "name:slots" or an address, optionally after "user@"; the name may be a bracketed range.
std::vector<Host> parse_hosts(std::string_view text, std::string_view source) {
  const std::size_t at = text.rfind('@');
  if (at != text.npos) {
    std::vector<Host> hosts = parse_hosts(text.substr(at + 1), source);
    const std::string user(text.substr(0, at));
    if (!is_user_name(user)) {
      throw ConfigError(
          "DDL-3-05",
          fmt::format("{}: '{}' is not a user name. Write for example alice@host1.", source, user));
    }
    for (Host& host : hosts) host.user = user;
    return hosts;
  }
  if (const std::size_t end = end_of_address(text)) return parse_address(text, end, source);
  check_port(text, source);
  const std::size_t colon = text.find(':');
  const int slots = colon == text.npos ? 0 : parse_slots(text.substr(colon + 1), source);
  std::vector<Host> hosts;
  for (std::string& name : expand_node_list(text.substr(0, colon), source)) {
    hosts.push_back({std::move(name), slots});
  }
  return hosts;
}

void append(std::vector<Host>* all, const std::vector<Host>& some, std::string_view source) {
  if (all->size() + some.size() > kMaxHosts) {
    throw ConfigError(
        "DDL-3-05", fmt::format("{}: more than {} hosts. Start several jobs.", source, kMaxHosts));
  }
  all->insert(all->end(), some.begin(), some.end());
}

std::vector<Host> parse_hostfile_line(const std::string& line, const std::string& source) {
  std::istringstream words(line.substr(0, line.find('#')));
  std::vector<Host> hosts;
  for (std::string word; words >> word;) {
    if (hosts.empty()) {
      hosts = parse_hosts(word, source);
    } else if (word.starts_with("slots=")) {
      for (Host& host : hosts) host.slots = parse_slots(word.substr(6), source);
    } else if (!word.starts_with("max_slots=") && !word.starts_with("max-slots=")) {
      throw ConfigError(
          "DDL-3-04",
          fmt::format("{}: '{}' is malformed. Write one host per line: host1, or host1 slots=4.",
                      source, word));
    }
  }
  return hosts;
}

}  // namespace

std::vector<Host> parse_host_list(std::string_view text) {
  std::vector<Host> hosts;
  bool is_inside = false;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && text[at] == '[') is_inside = true;
    if (at < text.size() && text[at] == ']') is_inside = false;
    if (at < text.size() && (text[at] != ',' || is_inside)) continue;
    append(&hosts, parse_hosts(trimmed(text.substr(begin, at - begin)), "-H"), "-H");
    begin = at + 1;
  }
  check_unique(hosts, "-H");
  return hosts;
}

std::vector<Host> read_hostfile(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::vector<Host> hosts;
  if (!file || std::filesystem::is_directory(path)) {
    throw ConfigError(
        "DDL-3-04",
        fmt::format("The hostfile {} cannot be read: {}. Pass a file with one host per line.",
                    path.string(), file ? "it is a directory" : std::strerror(errno)));
  }
  for (int number = 1; std::getline(file, line); ++number) {
    if (number == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
    const std::string source = fmt::format("{} line {}", path.string(), number);
    append(&hosts, parse_hostfile_line(line, source), source);
  }
  if (hosts.empty()) {
    throw ConfigError("DDL-3-04", fmt::format("The hostfile {} has no hosts. Write one per line.",
                                              path.string()));
  }
  check_unique(hosts, path.string());
  return hosts;
}

std::string common_user(const std::vector<Host>& hosts) {
  for (const Host& host : hosts) {
    if (host.user == hosts.front().user) continue;
    throw ConfigError(
        "DDL-3-05",
        fmt::format("Hosts name different users: '{}' on {}, '{}' on {}. Name the same one for "
                    "all hosts, or put the users into ~/.ssh/config.",
                    hosts.front().user, hosts.front().name, host.user, host.name));
  }
  return hosts.empty() ? "" : hosts.front().user;
}

void check_unique(const std::vector<Host>& hosts, std::string_view source) {
  std::unordered_set<std::string_view> seen;
  for (const Host& host : hosts) {
    if (!seen.insert(host.name).second) {
      throw ConfigError(
          "DDL-3-06",
          fmt::format("{}: {} is listed twice. List it once; for several ranks write {}:2.", source,
                      host.name, host.name));
    }
  }
}

}  // namespace tutti::launch
