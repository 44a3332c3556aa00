#include "tutti/launch/hosts/node_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "tutti/core/error.h"

namespace tutti::launch {
namespace {

constexpr std::size_t kMaxNameBytes = 253;  // RFC 1035

class Expansion {
 public:
  Expansion(std::string_view text, std::string_view source) : text_(text), source_(source) {}

  std::vector<std::string> run() {
    std::vector<std::string> all;
    for (std::size_t begin = 0; begin <= text_.size();) {
      const std::size_t end = end_of_piece(begin);
      const std::vector<std::string> some = expand(text_.substr(begin, end - begin));
      all.insert(all.end(), some.begin(), some.end());
      if (all.size() > kMaxHosts) reject("it names more than 65536 hosts");
      begin = end + 1;
    }
    return all;
  }

 private:
  [[noreturn]] void reject(std::string_view why) const {
    throw ConfigError("DDL-3-05",
                      fmt::format("{}: '{}' is not a list of hosts: {}. Write for example "
                                  "host1,host2 or node[01-16].",
                                  source_, text_, why));
  }

  // Position of the next comma outside brackets.
  std::size_t end_of_piece(std::size_t begin) const {
    bool is_inside = false;
    for (std::size_t at = begin; at < text_.size(); ++at) {
      if (text_[at] == '[') is_inside = true;
      if (text_[at] == ']') is_inside = false;
      if (text_[at] == ',' && !is_inside) return at;
    }
    return text_.size();
  }

  // Expands one name with any number of brackets to the product of their ranges.
  std::vector<std::string> expand(std::string_view piece) const {
    const std::size_t open = piece.find('[');
    check_letters(piece.substr(0, open));
    if (open == piece.npos) {
      if (piece.empty()) reject("a name is empty");
      return {std::string(piece)};
    }
    const std::size_t close = piece.find(']', open);
    if (close == piece.npos) reject("a bracket is not closed");
    const std::vector<std::string> numbers =
        expand_ranges(piece.substr(open + 1, close - open - 1));
    const std::string_view rest = piece.substr(close + 1);
    const std::vector<std::string> tails =
        rest.empty() ? std::vector<std::string>{""} : expand(rest);
    if (numbers.size() * tails.size() > kMaxHosts) reject("it names more than 65536 hosts");
    std::vector<std::string> out;
    for (const std::string& number : numbers) {
      for (const std::string& tail : tails) {
        out.push_back(std::string(piece.substr(0, open)) + number + tail);
      }
    }
    return out;
  }

  void check_letters(std::string_view name) const {
    const bool is_good = std::ranges::all_of(
        name, [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '-' || c == '_'; });
    if (!is_good || name.starts_with('-')) reject(fmt::format("'{}' is not a host name", name));
    if (name.size() > kMaxNameBytes)
      reject(fmt::format("a name of {} bytes is too long", name.size()));
  }

  std::vector<std::string> expand_ranges(std::string_view ranges) const {
    std::vector<std::string> out;
    for (std::size_t begin = 0; begin <= ranges.size();) {
      const std::size_t end = std::min(ranges.find(',', begin), ranges.size());
      const std::string_view range = ranges.substr(begin, end - begin);
      const std::size_t dash = range.find('-');
      const std::string_view low = range.substr(0, dash);
      const std::string_view high = dash == range.npos ? low : range.substr(dash + 1);
      const unsigned first = number(low), last = number(high);
      if (last < first) reject(fmt::format("{} falls", range));
      if (out.size() + (last - first) >= kMaxHosts) reject("it names more than 65536 hosts");
      for (unsigned i = 0; i <= last - first; ++i)  // last may be the largest integer
        out.push_back(fmt::format("{:0{}}", first + i, low.size()));
      begin = end + 1;
    }
    return out;
  }

  unsigned number(std::string_view digits) const {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      reject(fmt::format("'{}' is not a number", digits));
    }
    return value;
  }

  std::string_view text_, source_;
};

}  // namespace

std::vector<std::string> expand_node_list(std::string_view text, std::string_view source) {
  return Expansion(text, source).run();
}

}  // namespace tutti::launch
