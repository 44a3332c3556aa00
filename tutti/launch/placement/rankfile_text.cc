// Rankfile parser.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>
#include <unordered_set>

#include "tutti/core/error.h"
#include "tutti/launch/placement/rankfile.h"
#include "tutti/os/text_file.h"
#include "tutti/topo/number_list.h"

namespace tutti::launch {
namespace {

constexpr int kMostRanks = 1 << 20;

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

int parse_int(const std::string& text) {
  const std::vector<int> numbers = topo::parse_list(text);
  if (numbers.size() != 1) throw ConfigError("DDL-3-10", fmt::format("'{}' is not a number", text));
  return numbers[0];
}

RankSlot parse_slot(const std::string& host, const std::string& text) {
  RankSlot slot{host};
  const std::size_t colon = text.find(':');
  if (colon != text.npos) slot.socket = parse_int(text.substr(0, colon));
  const std::string cores = colon == text.npos ? text : text.substr(colon + 1);
  if (cores != "*") slot.cores = topo::parse_list(cores);
  std::ranges::sort(slot.cores);
  return slot;
}

class Reader {
 public:
  explicit Reader(std::string source) : source_(std::move(source)) {}

  Rankfile read(std::string_view text) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      line = trimmed(line);
      if (line.starts_with('#')) {
        read_header(line.substr(1));
      } else if (!line.empty()) {
        read_rank(line);
      }
    }
    finish();
    return std::move(rankfile_);
  }

 private:
  [[noreturn]] void reject(const std::string& why) const {
    throw ConfigError("DDL-3-10", fmt::format("{} line {}: {}. Write: rank 0=host1 slot=0:0-7.",
                                              source_, line_, why));
  }

  // Other comments are ignored.
  void read_header(const std::string& line) {
    const std::size_t equals = line.find('=');
    if (equals == line.npos) return;
    const std::string key = trimmed(line.substr(0, equals)),
                      value = trimmed(line.substr(equals + 1));
    const std::map<std::string, int*> numbers = {
        {"aisles", &rankfile_.aisles},   {"racks", &rankfile_.racks},
        {"nodes", &rankfile_.nodes},     {"accelerators", &rankfile_.accelerators},
        {"sockets", &rankfile_.sockets}, {"cores", &rankfile_.cores}};
    const auto found = numbers.find(key);
    try {
      if (found != numbers.end()) *found->second = parse_int(value);
    } catch (const ConfigError&) {
      reject(fmt::format("#{} is '{}', which is not a number", key, value));
    }
  }

  void read_rank(const std::string& line) {
    std::istringstream words(line);
    std::string keyword, place, slot, more;
    words >> keyword >> place >> slot;
    const std::size_t equals = place.find('=');
    const bool is_rank = keyword == "rank" && equals != place.npos && equals > 0 &&
                         equals + 1 < place.size() && slot.starts_with("slot=") && !(words >> more);
    if (!is_rank) reject(fmt::format("'{}' does not assign a rank", line));
    try {
      const int rank = parse_int(place.substr(0, equals));
      if (rank >= kMostRanks) reject(fmt::format("rank {} is too high", rank));
      const std::string host = place.substr(equals + 1);
      if (!ranks_.emplace(rank, parse_slot(host, slot.substr(5))).second) {
        reject(fmt::format("rank {} is listed twice", rank));
      }
      if (seen_.insert(host).second) rankfile_.hosts.push_back(host);
    } catch (const ConfigError& error) {
      if (error.code() == "DDL-3-10" && std::strstr(error.what(), "line ")) throw;
      reject(fmt::format("'{}' does not assign a rank", line));
    }
  }

  void finish() {
    if (ranks_.empty()) {
      throw ConfigError("DDL-3-10",
                        fmt::format("{} has no ranks. Write: rank 0=host1 slot=0:0-7.", source_));
    }
    for (auto& [rank, slot] : ranks_) {
      const int expected = rankfile_.size();
      if (rank != expected) {
        throw ConfigError("DDL-3-10",
                          fmt::format("{}: rank {} is missing, but there is a rank {}. Ranks are "
                                      "0 to one less than their number.",
                                      source_, expected, rank));
      }
      rankfile_.ranks.push_back(std::move(slot));
    }
  }

  std::string source_;
  int line_ = 0;
  std::map<int, RankSlot> ranks_;
  std::unordered_set<std::string> seen_;  // hosts
  Rankfile rankfile_;
};

}  // namespace

Rankfile parse_rankfile(std::string_view text, const std::string& source) {
  return Reader(source).read(text);
}

Rankfile read_rankfile(const std::string& path) {
  std::string text = os::read_text(path);
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // a byte order mark
  if (text.empty()) {
    throw ConfigError("DDL-3-10", fmt::format("The rankfile {} cannot be read or is empty.", path));
  }
  return parse_rankfile(text, path);
}

}  // namespace tutti::launch
