#include "tutti/topo/grid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "tutti/core/error.h"
#include "tutti/topo/internal/document.h"
#include "tutti/topo/number_list.h"

namespace tutti::topo {
namespace {

// More ranks than any list holds; keeps products of wrong sizes from overflowing.
constexpr std::int64_t kLargestProduct = std::int64_t{1} << 31;

// Takes `position` apart along the dimensions from `first` on, the first fastest.
void append_digits(const Grid& grid, std::size_t first, int position, std::vector<int>* digits) {
  for (std::size_t d = first; d < grid.dimensions.size(); ++d) {
    digits->push_back(position % grid.dimensions[d].size);
    position /= grid.dimensions[d].size;
  }
}

// The coordinates of every position, in the order of `grid.ranks`.
std::vector<std::vector<int>> all_coordinates(const Grid& grid) {
  std::vector<std::vector<int>> all;
  all.reserve(grid.ranks.size());
  if (grid.is_even()) {
    for (int position = 0; position < grid.size(); ++position) {
      append_digits(grid, 0, position, &all.emplace_back());
    }
    return all;
  }
  for (std::size_t host = 0; host < grid.hosts.size(); ++host) {
    for (std::size_t place = 0; place < grid.hosts[host].size(); ++place) {
      std::vector<int>& digits = all.emplace_back(1, static_cast<int>(place));
      append_digits(grid, 1, static_cast<int>(host), &digits);
    }
  }
  return all;
}

void require(bool holds, const std::string& source, const std::string& message) {
  if (!holds) throw ConfigError("DDL-2-05", source + ": " + message);
}

// The promises that the comment on Grid makes.
void check(const Grid& grid, const std::string& source) {
  std::int64_t product = 1;
  for (std::size_t d = grid.is_even() ? 0 : 1; d < grid.dimensions.size(); ++d) {
    require(grid.dimensions[d].size > 0, source, "only the first dimension may have size 0.");
    product = std::min(product * grid.dimensions[d].size, kLargestProduct);
  }
  const std::size_t wanted = grid.is_even() ? grid.ranks.size() : grid.hosts.size();
  require(product == static_cast<std::int64_t>(wanted), source,
          fmt::format("the dimensions make {} but there are {} {}.", product, wanted,
                      grid.is_even() ? "ranks" : "hosts"));
  std::vector<int> of_hosts;
  for (const auto& host : grid.hosts) of_hosts.insert(of_hosts.end(), host.begin(), host.end());
  require(of_hosts == grid.ranks, source,
          "the ranks of the hosts, one after the other, must be those of the line ranks.");
  std::ranges::sort(of_hosts);
  for (int rank = 0; rank < grid.size(); ++rank) {
    require(of_hosts[static_cast<std::size_t>(rank)] == rank, source,
            fmt::format("the ranks must be 0 to {}, each once.", grid.size() - 1));
  }
}

const internal::Form& grid_form() {
  static const internal::Form kForm = {
      "grid",
      {{"", {"ranks"}},
       {"dimension", {"name", "size"}, {"mapped", "latency", "seconds_per_byte"}},
       {"host", {"ranks"}}}};
  return kForm;
}

Dimension parse_dimension(const internal::Section& section) {
  Dimension dimension;
  dimension.name = section.text("name");
  dimension.size = section.integer("size");
  if (section.has("mapped")) dimension.mapped = section.yes_no("mapped");
  if (section.has("latency")) dimension.link.latency = section.number("latency");
  if (section.has("seconds_per_byte")) {
    dimension.link.seconds_per_byte = section.number("seconds_per_byte");
  }
  return dimension;
}

}  // namespace

std::vector<int> coordinates(const Grid& grid, int rank) {
  const auto found = std::ranges::find(grid.ranks, rank);
  if (found == grid.ranks.end()) {
    throw ConfigError("DDL-2-05",
                      fmt::format("The grid has no rank {}: it has {} ranks.", rank, grid.size()));
  }
  std::vector<int> digits;
  if (grid.is_even()) {
    append_digits(grid, 0, static_cast<int>(found - grid.ranks.begin()), &digits);
    return digits;
  }
  const int host = grid.host_of(rank);
  const auto& members = grid.hosts[static_cast<std::size_t>(host)];
  digits.push_back(static_cast<int>(std::ranges::find(members, rank) - members.begin()));
  append_digits(grid, 1, host, &digits);
  return digits;
}

std::vector<std::vector<int>> groups(const Grid& grid, int dimension) {
  std::vector<std::vector<int>> result;
  std::map<std::vector<int>, std::size_t> group_of;  // by the other coordinates
  std::vector<std::vector<int>> all = all_coordinates(grid);
  for (std::size_t position = 0; position < all.size(); ++position) {
    all[position][static_cast<std::size_t>(dimension)] = 0;
    const auto [found, is_new] = group_of.try_emplace(std::move(all[position]), result.size());
    if (is_new) result.emplace_back();
    result[found->second].push_back(grid.ranks[position]);
  }
  return result;
}

std::string shape_of(const Grid& grid) {
  std::vector<std::string> sizes;
  for (const Dimension& dimension : grid.dimensions) {
    sizes.push_back(dimension.size ? fmt::to_string(dimension.size) : "*");
  }
  return fmt::to_string(fmt::join(sizes, "x"));
}

std::string to_text(const Grid& grid) {
  std::string text = fmt::format("tutti grid 1\nranks = {}\n", format_list(grid.ranks));
  for (const Dimension& dimension : grid.dimensions) {
    text += fmt::format(
        "\n[dimension]\nname = {}\nsize = {}\nmapped = {}\nlatency = {}\nseconds_per_byte = {}\n",
        internal::clean_value(dimension.name), dimension.size, dimension.mapped ? "yes" : "no",
        dimension.link.latency, dimension.link.seconds_per_byte);
  }
  for (const auto& host : grid.hosts) {
    text += fmt::format("\n[host]\nranks = {}\n", format_list(host));
  }
  return text;
}

Grid parse_grid(std::string_view text, const std::string& source) {
  const internal::Document document = internal::parse_document(text, source, grid_form());
  Grid grid;
  grid.ranks = document.head.list("ranks");
  for (const internal::Section& section : document.sections) {
    if (section.name() == "host") {
      grid.hosts.push_back(section.list("ranks"));
    } else {
      grid.dimensions.push_back(parse_dimension(section));
    }
  }
  check(grid, source);
  return grid;
}

}  // namespace tutti::topo
