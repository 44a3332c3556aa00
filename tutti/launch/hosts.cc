#include "tutti/launch/hosts.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "tutti/core/error.h"
#include "tutti/launch/node_list.h"

namespace tutti::launch {
namespace {

constexpr int kMostSlots = 1 << 20;

int parse_slots(std::string_view text, std::string_view source) {
  int slots = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slots);
  if (error != std::errc() || end != text.data() + text.size() || slots < 1 || slots > kMostSlots) {
    throw ConfigError("DDL-3-05", fmt::format("{}: '{}' is no number of ranks on a host. Write for "
                                              "example host1:4.",
                                              source, text));
  }
  return slots;
}

// "name" or "name:slots", the name possibly shortened.
std::vector<Host> parse_hosts(std::string_view text, std::string_view source) {
  const std::size_t colon = text.find(':');
  const int slots = colon == text.npos ? 0 : parse_slots(text.substr(colon + 1), source);
  std::vector<Host> hosts;
  for (std::string& name : expand_node_list(text.substr(0, colon), source)) {
    hosts.push_back({std::move(name), slots});
  }
  return hosts;
}

void append(std::vector<Host>* all, std::vector<Host> some) {
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
      throw ConfigError("DDL-3-04", fmt::format("{}: '{}' is not understood. Write one host per "
                                                "line: host1, or host1 slots=4.",
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
    append(&hosts, parse_hosts(text.substr(begin, at - begin), "-H"));
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
    throw ConfigError("DDL-3-04",
                      fmt::format("The hostfile {} cannot be read: {}. Give a file "
                                  "with one host per line.",
                                  path.string(), file ? "it is a folder" : std::strerror(errno)));
  }
  for (int number = 1; std::getline(file, line); ++number) {
    append(&hosts, parse_hostfile_line(line, fmt::format("{} line {}", path.string(), number)));
  }
  if (hosts.empty()) {
    throw ConfigError("DDL-3-04", fmt::format("The hostfile {} names no host. Write one per line.",
                                              path.string()));
  }
  check_unique(hosts, path.string());
  return hosts;
}

void check_unique(const std::vector<Host>& hosts, std::string_view source) {
  std::set<std::string_view> seen;
  for (const Host& host : hosts) {
    if (!seen.insert(host.name).second) {
      throw ConfigError("DDL-3-06", fmt::format("{}: {} is there twice. Name it once, with a "
                                                "number of ranks if it is to have several: {}:2.",
                                                source, host.name, host.name));
    }
  }
}

}  // namespace tutti::launch
