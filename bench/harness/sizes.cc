#include "bench/harness/sizes.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <set>

#include "tutti/core/bytes.h"
#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

constexpr int kDefaultStep = 4;

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw ConfigError(
      "DDL-8-03", fmt::format("Cannot read the sizes '{}': {}. Write 1KiB..256MiB, 1KiB..256MiBx2 "
                              "or 1KiB,64KiB,4MiB.",
                              text, why));
}

// Removes "x2" from the end of `range`, if present, and returns the step.
int take_step(std::string_view& range) {
  std::size_t mark = range.rfind('x');
  if (mark == std::string_view::npos) return kDefaultStep;
  std::string_view digits = range.substr(mark + 1);
  int step = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc() || end != digits.data() + digits.size() || step < 2)
    refuse(range, "the step must be x2 or more");
  range = range.substr(0, mark);
  return step;
}

void add_range(std::string_view item, std::set<std::int64_t>& sizes) {
  int step = take_step(item);
  std::size_t dots = item.find("..");
  if (dots == std::string_view::npos) {
    sizes.insert(parse_bytes(item));
    return;
  }
  std::int64_t first = parse_bytes(item.substr(0, dots)), last = parse_bytes(item.substr(dots + 2));
  if (first <= 0 || first > last) refuse(item, "a range goes from a smaller to a larger size");
  sizes.insert(last);
  for (std::int64_t size = first; size < last; size *= step) {
    sizes.insert(size);
    if (size > std::numeric_limits<std::int64_t>::max() / step) break;
  }
}

}  // namespace

std::vector<std::int64_t> parse_sizes(std::string_view text) {
  std::set<std::int64_t> sizes;
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t end = std::min(text.find(',', begin), text.size());
    add_range(text.substr(begin, end - begin), sizes);
    begin = end + 1;
  }
  for (std::int64_t size : sizes)
    if (size <= 0 || size % 4 != 0) refuse(text, "sizes are whole f32 elements, 4 bytes each");
  return {sizes.begin(), sizes.end()};
}

}  // namespace tutti::bench
