#include "tutti/plan/layout.h"

#include <fmt/format.h>
#include <algorithm>

#include "tutti/core/error.h"

namespace tutti::plan {
namespace {

using Rows = std::vector<const Algorithm*>;

bool is_mapped(const Algorithm* row) {
  return row->is_mapped;
}

Rows find_rows(const Choice& choice) {
  Rows rows;
  for (const std::string& name : choice.algorithms) {
    const Algorithm* row = find_algorithm(name);
    if (row == nullptr || row->build == nullptr) {
      std::string known;
      for (const Algorithm& a : algorithms()) {
        if (a.build != nullptr) known += fmt::format("{}{}", known.empty() ? "" : ", ", a.name);
      }
      throw ConfigError("DDL-1-20",
                        fmt::format("Unknown algorithm '{}'. Use one of: {}.", name, known));
    }
    rows.push_back(row);
  }
  if (rows.empty())
    throw ConfigError("DDL-1-21", "The list of algorithms is empty. Name at least one.");
  return rows;
}

// Number of leading dimensions handled in mapped memory.
int mapped_dimensions(const topo::Grid& grid, const Rows& rows) {
  const int all = static_cast<int>(grid.dimensions.size());
  const auto first_other = std::find_if_not(rows.begin(), rows.end(), is_mapped);
  const auto late = std::find_if(first_other, rows.end(), is_mapped);
  if (late != rows.end()) {
    throw ConfigError("DDL-1-22",
                      fmt::format("'{}' must be the first algorithm of the list.", (*late)->name));
  }
  const int count = first_other == rows.end() ? all : static_cast<int>(first_other - rows.begin());
  for (int d = 0; d < std::min(count, all); ++d) {
    if (grid.dimensions[d].mapped || grid.dimensions[d].size == 1) continue;
    throw ConfigError("DDL-1-23",
                      fmt::format("'{}' needs ranks that share memory. Those of dimension {} ({}) "
                                  "do not. Use another algorithm there, such as ring.",
                                  rows.front()->name, d, grid.dimensions[d].name));
  }
  return std::min(count, all);
}

void check_supports(const Algorithm& row, Collective collective, const Shape& shape) {
  if (row.supports(collective, shape)) return;
  std::string able;
  for (const Algorithm& a : algorithms()) {
    if (a.build == nullptr || !a.supports(collective, shape)) continue;
    able += fmt::format("{}{}", able.empty() ? "" : ", ", a.name);
  }
  throw ConfigError("DDL-1-24", fmt::format("'{}' does not support {} here{}. Use one of: {}.",
                                            row.name, name_of(collective),
                                            shape.reproducible ? " reproducibly" : "", able));
}

// Checks the algorithm of each axis. In an all_reduce every axis but the last runs reduce_scatter and all_gather.
void check_axes(const std::vector<Axis>& axes, const Request& request, bool uniform) {
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const Shape shape{axes[a].size, false, request.reproducible, uniform};
    if (request.collective == Collective::kAllReduce && a + 1 < axes.size()) {
      check_supports(*axes[a].algorithm, Collective::kReduceScatter, shape);
      check_supports(*axes[a].algorithm, Collective::kAllGather, shape);
    } else {
      check_supports(*axes[a].algorithm, request.collective, shape);
    }
  }
}

bool is_one_block(const topo::Grid& grid, int mapped) {
  if (!grid.is_even()) return grid.hosts.size() == 1;
  return std::all_of(grid.dimensions.begin() + mapped, grid.dimensions.end(),
                     [](const topo::Dimension& d) { return d.size == 1; });
}

// Returns the slowest dimension with more than one rank, at or after `first`.
int last_dimension(const topo::Grid& grid, int first) {
  int d = static_cast<int>(grid.dimensions.size()) - 1;
  while (d > first && grid.dimensions[d].size == 1) --d;
  return std::max(d, 0);
}

// Native collectives on pieces need them in rank order, so they run over all ranks as one subgroup.
bool is_by_vendor_as_one(Collective collective, const Rows& rows) {
  const auto is_vendor = [](const Algorithm* row) { return row->is_one_step && !row->is_mapped; };
  if (collective == Collective::kAllReduce || std::none_of(rows.begin(), rows.end(), is_vendor)) {
    return false;
  }
  if (is_vendor(rows.back())) return true;
  throw ConfigError(
      "DDL-1-31",
      fmt::format(
          "'vendor' supports {} over all ranks only. Use it alone, or use another algorithm.",
          name_of(collective)));
}

// Collectives with separate data for each pair of ranks run over all ranks as one subgroup.
bool is_flat_only(Collective collective) {
  return collective == Collective::kGather || collective == Collective::kScatter ||
         collective == Collective::kAllToAll || collective == Collective::kSendReceive;
}

}  // namespace

Layout::Layout(const topo::Grid& grid, const Request& request, const Choice& choice, int rank)
    : grid_(grid), rank_(rank) {
  const Rows rows = find_rows(choice);
  if (rows.size() > std::max<std::size_t>(1, grid.dimensions.size())) {
    throw ConfigError("DDL-1-25", fmt::format("{} algorithms for {} dimensions. Give one for each.",
                                              rows.size(), grid.dimensions.size()));
  }
  const bool uniform = request.send_counts.empty();
  const int mapped = mapped_dimensions(grid, rows);
  Shape shape{grid.size(), true, request.reproducible, uniform};
  shape.bytes = static_cast<std::size_t>(request.count) * request.element_bytes;
  if (mapped > 0 && is_one_block(grid, mapped)) {
    whole_row_ = rows.front();
    check_supports(*whole_row_, request.collective, shape);
    split_into_blocks(mapped, false);
  } else {
    shape.is_whole = false;
    for (const Algorithm* row : rows) {
      if (row->is_mapped && row->is_one_step) check_supports(*row, request.collective, shape);
    }
    const bool in_rank_order =
        request.reproducible || is_by_vendor_as_one(request.collective, rows);
    const bool is_flat = in_rank_order || is_flat_only(request.collective) ||
                         (!grid.is_even() && mapped == 0) || grid.dimensions.empty();
    split_into_blocks(is_flat ? 0 : mapped, in_rank_order);
    if (is_flat) {
      add_axis(block_count_, last_dimension(grid, 0), rows.back());
    } else {
      add_axes(request.collective, rows, mapped);
    }
    check_axes(axes_, request, uniform);
  }
  rails_ = choice.rails > 0 ? std::min(smallest_block(), choice.rails) : smallest_block();
}

void Layout::split_into_blocks(int mapped_dimensions, bool in_rank_order) {
  order_ = grid_.ranks;
  if (in_rank_order) std::sort(order_.begin(), order_.end());
  for (int d = 0; d < mapped_dimensions; ++d) block_size_ *= grid_.dimensions[d].size;
  const int position =
      static_cast<int>(std::find(order_.begin(), order_.end(), rank_) - order_.begin());
  if (block_size_ > 0) {
    block_count_ = static_cast<int>(order_.size()) / block_size_;
    block_index_ = position / block_size_;
    index_in_block_ = position % block_size_;
  } else {
    block_count_ = static_cast<int>(grid_.hosts.size());
    block_index_ = grid_.host_of(rank_);
    const auto members = my_block();
    index_in_block_ =
        static_cast<int>(std::find(members.begin(), members.end(), rank_) - members.begin());
  }
}

int Layout::smallest_block() const {
  if (block_size_ > 0) return block_size_;
  std::size_t smallest = my_block().size();
  for (const auto& host : grid_.hosts) smallest = std::min(smallest, host.size());
  return static_cast<int>(smallest);
}

void Layout::add_axes(Collective collective, const std::vector<const Algorithm*>& rows, int first) {
  const int dimensions = static_cast<int>(grid_.dimensions.size());
  const bool as_one = collective == Collective::kBroadcast || collective == Collective::kReduce ||
                      collective == Collective::kBarrier;
  const int last_row = as_one ? first : static_cast<int>(rows.size()) - 1;
  for (int d = first; d < std::min(last_row, dimensions); ++d) {
    add_axis(grid_.dimensions[d].size, d, rows[d]);
  }
  int rest = 1;
  for (int d = last_row; d < dimensions; ++d) rest *= grid_.dimensions[d].size;
  add_axis(rest, last_dimension(grid_, last_row), rows.back());
}

void Layout::add_axis(int size, int dimension, const Algorithm* algorithm) {
  if (size == 1) return;
  const int stride = axes_.empty() ? 1 : axes_.back().stride * axes_.back().size;
  axes_.push_back({size, stride, dimension, algorithm});
}

int Layout::block_of(int rank) const {
  if (block_size_ == 0) return grid_.host_of(rank);
  return static_cast<int>(std::find(order_.begin(), order_.end(), rank) - order_.begin()) /
         block_size_;
}

std::span<const int> Layout::block(int index) const {
  if (block_size_ == 0) return grid_.hosts[index];
  return std::span(order_).subspan(static_cast<std::size_t>(index) * block_size_, block_size_);
}

Subgroup Layout::subgroup(const Axis& axis) const {
  Subgroup subgroup;
  subgroup.dimension = axis.dimension;
  subgroup.index = block_index_ / axis.stride % axis.size;
  const int first = block_index_ - subgroup.index * axis.stride;
  for (int i = 0; i < axis.size; ++i)
    subgroup.ranks.push_back(block(first + i * axis.stride)[index_in_block_]);
  return subgroup;
}

Subgroup Layout::block_subgroup() const {
  const auto members = my_block();
  Subgroup subgroup{{members.begin(), members.end()}, 0, 0};
  std::sort(subgroup.ranks.begin(), subgroup.ranks.end());
  subgroup.index = static_cast<int>(std::find(subgroup.ranks.begin(), subgroup.ranks.end(), rank_) -
                                    subgroup.ranks.begin());
  return subgroup;
}

std::vector<std::vector<int>> Layout::groups() const {
  const int host = grid_.host_of(rank_);
  if (host < 0 || grid_.hosts[host].size() <= my_block().size()) return {block_subgroup().ranks};
  const auto& neighbours = grid_.hosts[host];
  std::vector<std::vector<int>> groups;
  for (int b = 0; b < block_count_; ++b) {
    const auto members = block(b);
    if (std::find(neighbours.begin(), neighbours.end(), members[0]) == neighbours.end()) continue;
    auto& group = groups.emplace_back(members.begin(), members.end());
    std::sort(group.begin(), group.end());
  }
  return groups;
}

}  // namespace tutti::plan
