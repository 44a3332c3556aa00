#include "tutti/plan/mode.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "tutti/core/error.h"
#include "tutti/plan/algorithms/table.h"

namespace tutti::plan {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

[[noreturn]] void throw_unknown(std::string_view word) {
  std::string names;
  for (const Algorithm& row : algorithms()) {
    if (row.build != nullptr) names += fmt::format(", {}", row.name);
  }
  throw ConfigError("DDL-1-28", fmt::format("Mode '{}' is unknown. Use a letter (b n r m c p) or a "
                                            "name{}; with dimensions for example p:2x2x1x1.",
                                            word, names));
}

const Algorithm& row_of(std::string_view word) {
  for (const Algorithm& row : algorithms()) {
    const bool is_letter = word.size() == 1 && row.letters.find(word) != std::string_view::npos;
    if (row.build != nullptr && (is_letter || row.name == word)) return row;
  }
  throw_unknown(word);
}

int parse_size(std::string_view word, std::string_view text) {
  int size = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
  if (error == std::errc() && end == word.data() + word.size() && size > 0) return size;
  throw ConfigError("DDL-1-29", fmt::format("Cannot read the dimensions in mode '{}'. Write sizes "
                                            "of 1 or more joined by x, for example 2x2x1x1.",
                                            text));
}

}  // namespace

Mode parse_mode(std::string_view text) {
  Mode mode;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    for (const auto word : split(text.substr(colon + 1), 'x')) {
      mode.dimensions.push_back(parse_size(word, text));
    }
  }
  const std::string_view head = text.substr(0, colon);
  if (head == "p") return mode;
  for (const auto word : split(head, ',')) {
    mode.algorithms.emplace_back(row_of(word).name);
    if (word.size() == 1) mode.letters += word;
    if (word == "b" || word == "n") mode.only_where_mapped = true;
  }
  return mode;
}

std::vector<std::string> Mode::algorithms_on(const topo::Grid& grid) const {
  std::vector<std::string> names;
  if (algorithms.empty()) return names;
  bool leads = true;
  for (std::size_t d = 0; d < std::max<std::size_t>(1, grid.dimensions.size()); ++d) {
    const std::string& name = algorithms[std::min(d, algorithms.size() - 1)];
    const bool is_mapped =
        d < grid.dimensions.size() && (grid.dimensions[d].mapped || grid.dimensions[d].size == 1);
    // `direct` is only valid at the front: after the first dimension that is not mapped, ring replaces it.
    leads = leads && is_mapped;
    names.push_back(name == "direct" && only_where_mapped && !leads ? "ring" : name);
  }
  return names;
}

}  // namespace tutti::plan
