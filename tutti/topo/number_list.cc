#include "tutti/topo/number_list.h"

#include <fmt/format.h>

#include <charconv>
#include <numeric>

#include "tutti/core/error.h"

namespace tutti::topo {
namespace {

constexpr int kLargest = 1 << 24;

[[noreturn]] void reject(std::string_view text) {
  throw ConfigError(
      "DDL-2-12",
      fmt::format("'{}' is not a list of numbers. Write for example 0-3,8 or none.", text));
}

int parse_number(std::string_view piece, std::string_view whole) {
  int number = 0;
  const auto [end, error] = std::from_chars(piece.begin(), piece.end(), number);
  if (error != std::errc() || end != piece.end() || number < 0 || number > kLargest) reject(whole);
  return number;
}

}  // namespace

std::string format_list(std::span<const int> numbers) {
  if (numbers.empty()) return "none";
  std::string text;
  for (std::size_t begin = 0; begin < numbers.size();) {
    std::size_t end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (end - begin < 3) end = begin + 1;
    if (begin > 0) text += ',';
    text += fmt::to_string(numbers[begin]);
    if (end - begin > 1) text += fmt::format("-{}", numbers[end - 1]);
    begin = end;
  }
  return text;
}

std::vector<int> parse_list(std::string_view text) {
  std::vector<int> numbers;
  if (text == "none") return numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view piece = text.substr(begin, end - begin);
    const std::size_t dash = piece.find('-');
    const int first = parse_number(piece.substr(0, dash), text);
    const int last = dash == piece.npos ? first : parse_number(piece.substr(dash + 1), text);
    if (last < first) reject(text);
    const std::size_t old_size = numbers.size();
    numbers.resize(old_size + static_cast<std::size_t>(last - first) + 1);
    std::iota(numbers.begin() + static_cast<std::ptrdiff_t>(old_size), numbers.end(), first);
    begin = end + 1;
  }
  return numbers;
}

}  // namespace tutti::topo
