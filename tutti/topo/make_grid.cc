// Construction of the process grid: sizes of the dimensions, position of each rank, dimensions that stay within a host.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <numeric>

#include "tutti/core/error.h"
#include "tutti/topo/layout.h"

namespace tutti::topo {
namespace {

constexpr int kLargestSize = 1 << 24;

std::vector<std::string> names_of(std::size_t count) {
  if (count == 5) return {"accelerator", "socket", "node", "rack", "aisle"};
  std::vector<std::string> names = {"accelerator", "node", "rack", "aisle"};
  names.resize(count);
  return names;
}

std::string shape(const std::vector<int>& sizes) {
  return fmt::to_string(fmt::join(sizes, "x"));
}

// Ranks per host if all hosts have the same number, otherwise 0.
int ranks_per_host(const Layout& layout) {
  const std::size_t first = layout.hosts[0].ranks.size();
  const bool even = std::ranges::all_of(
      layout.hosts, [&](const Host& host) { return host.ranks.size() == first; });
  return even ? static_cast<int>(first) : 0;
}

// Ranks of a host grouped by socket, otherwise in the order of the layout.
std::vector<int> sorted_by_socket(const Host& host) {
  std::vector<std::size_t> order(host.ranks.size());
  std::iota(order.begin(), order.end(), 0);
  if (!host.sockets.empty()) {
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return host.sockets[i]; });
  }
  std::vector<int> ranks;
  for (const std::size_t i : order) ranks.push_back(host.ranks[i]);
  return ranks;
}

// Sizes that fit the layout, with as many dimensions as requested.
std::vector<int> suggested_sizes(const Layout& layout, std::size_t count) {
  std::vector<int> sizes(std::clamp<std::size_t>(count, 1, 5), 1);
  const int per_host = ranks_per_host(layout);
  if (sizes.size() == 1 || per_host == 0) {
    sizes[0] = layout.size();
  } else {
    sizes[0] = per_host;
    sizes[sizes.size() == 5 ? 2 : 1] = static_cast<int>(layout.hosts.size());
  }
  return sizes;
}

void check_sizes(const Layout& layout, const std::vector<int>& sizes) {
  std::int64_t product = 1;
  for (const int size : sizes) {
    product = std::min<std::int64_t>(product * std::max(size, 0), kLargestSize);
  }
  if (product == layout.size() && sizes.size() <= 5) return;
  throw ConfigError(
      "DDL-2-01",
      fmt::format("The dimensions {} make {} {} but the job has {}. Write for example -mode p:{}.",
                  shape(sizes), product, product == 1 ? "rank" : "ranks", layout.size(),
                  shape(suggested_sizes(layout, sizes.size()))));
}

// Requires the sizes of the dimensions, the positions and the hosts.
bool stays_on_hosts(const Grid& grid, int dimension, const std::vector<int>& host_of) {
  const auto host = [&](int rank) { return host_of[rank]; };
  return std::ranges::all_of(groups(grid, dimension), [&](const std::vector<int>& group) {
    return std::ranges::all_of(group, [&](int rank) { return host(rank) == host(group[0]); });
  });
}

}  // namespace

Link& link_of(const Dimension& dimension, LinkTable& links) {
  if (dimension.mapped) return dimension.name == "socket" ? links.socket : links.memory;
  if (dimension.name == "rack") return links.rack;
  if (dimension.name == "aisle") return links.aisle;
  return links.node;
}

DimensionRequest parse_dimensions(std::string_view text) {
  DimensionRequest request;
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    int size = 0;
    const auto [rest, error] = std::from_chars(text.data() + begin, text.data() + end, size);
    if (error != std::errc() || rest != text.data() + end || size < 1 || size > kLargestSize ||
        request.sizes.size() == 5) {
      throw ConfigError(
          "DDL-2-02", fmt::format("Malformed dimensions '{}'. Write accelerators x nodes x racks x "
                                  "aisles as one to five numbers above 0, for example 4x2x1x1.",
                                  text));
    }
    request.sizes.push_back(size);
    begin = end + 1;
  }
  return request;
}

Grid make_grid(const Layout& layout, const DimensionRequest& request, LinkTable links) {
  check(layout);
  const bool automatic = request.sizes.empty();
  const std::vector<int> sizes =
      automatic
          ? std::vector<int>{ranks_per_host(layout), static_cast<int>(layout.hosts.size()), 1, 1}
          : request.sizes;
  if (!automatic) check_sizes(layout, sizes);

  Grid grid;
  const std::vector<std::string> names = names_of(sizes.size());
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    grid.dimensions.push_back({.name = names[d], .size = sizes[d], .link = {}});
  }
  std::vector<int> host_of(static_cast<std::size_t>(layout.size()));
  for (const Host& host : layout.hosts) {
    grid.hosts.push_back(sizes.size() == 5 ? sorted_by_socket(host) : host.ranks);
    for (const int rank : grid.hosts.back()) {
      grid.ranks.push_back(rank);
      host_of[rank] = static_cast<int>(grid.hosts.size()) - 1;
    }
  }
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    Dimension& dimension = grid.dimensions[d];
    dimension.mapped = stays_on_hosts(grid, static_cast<int>(d), host_of);
    dimension.link = link_of(dimension, links);
  }
  return grid;
}

}  // namespace tutti::topo
