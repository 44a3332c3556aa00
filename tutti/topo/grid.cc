#include "tutti/topo/grid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace tutti::topo {
namespace {

// Converts `position` to coordinates along the dimensions from `first` on, the first fastest.
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
    for (std::size_t index = 0; index < grid.hosts[host].size(); ++index) {
      std::vector<int>& digits = all.emplace_back(1, static_cast<int>(index));
      append_digits(grid, 1, static_cast<int>(host), &digits);
    }
  }
  return all;
}

}  // namespace

std::vector<std::vector<int>> groups(const Grid& grid, int dimension) {
  std::vector<std::vector<int>> result;
  std::map<std::vector<int>, std::size_t> group_of;  // by the other coordinates
  std::vector<std::vector<int>> all = all_coordinates(grid);
  for (std::size_t position = 0; position < all.size(); ++position) {
    all[position][dimension] = 0;
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

}  // namespace tutti::topo
