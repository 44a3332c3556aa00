#include "tutti/plan/cost.h"

#include <algorithm>
#include <numeric>

#include "tutti/plan/algorithms/multi_dimensional.h"
#include "tutti/plan/layout.h"

namespace tutti::plan {
namespace {

double seconds(const Cost& cost, const topo::Link& link) {
  return cost.steps * link.latency + cost.bytes * link.seconds_per_byte;
}

// The slowest link of the dimensions that a block spans.
topo::Link memory_link(const topo::Grid& grid) {
  topo::Link link;
  for (const topo::Dimension& dimension : grid.dimensions) {
    if (!dimension.mapped && dimension.size != 1) break;
    link.latency = std::max(link.latency, dimension.link.latency);
    link.seconds_per_byte = std::max(link.seconds_per_byte, dimension.link.seconds_per_byte);
  }
  return link;
}

// Cost of the shared-memory phases of a hierarchical plan: the local reduction, and the copy of the results from the
// rails.
Cost block_cost(Collective collective, int ranks, double bytes, int lanes) {
  if (collective == Collective::kBarrier) return {2, 0};
  const bool reduces = is_reduction(collective);
  return {(reduces ? 4.0 : 3.0) * lanes, (reduces ? bytes + bytes / ranks : 0) + 2 * bytes};
}

// The rails of a host share its network link, so together they carry the whole vector.
double network_seconds(const topo::Grid& grid, const Request& request, const Layout& layout,
                       int lanes) {
  const auto& axes = layout.axes();
  double bytes = bytes_of(request), total = 0;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const Axis& axis = axes[a];
    const topo::Link link =
        grid.dimensions.empty() ? topo::Link{} : grid.dimensions[axis.dimension].link;
    const auto cost = [&](Collective collective) {
      return seconds(axis.algorithm->cost(collective, axis.size, bytes, lanes), link);
    };
    if (request.collective == Collective::kAllReduce && a + 1 < axes.size()) {
      total += cost(Collective::kReduceScatter) + cost(Collective::kAllGather);
    } else {
      total += cost(request.collective);
    }
    bytes /= axis.size;
  }
  return total;
}

}  // namespace

double bytes_of(const Request& request) {
  const auto sum = [](const std::vector<std::int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  };
  std::int64_t count = request.count;
  switch (request.collective) {
    case Collective::kReduceScatter:
    case Collective::kAllGather:
    case Collective::kGather:
    case Collective::kScatter: count = sum(request.counts); break;
    case Collective::kAllToAll:
      if (!request.send_counts.empty()) count = sum(request.send_counts);
      break;
    case Collective::kBarrier: count = 0; break;
    default: break;
  }
  return static_cast<double>(count) * static_cast<double>(request.element_bytes);
}

double predict(const topo::Grid& grid, const Request& request, const Choice& choice) {
  if (grid.size() == 1) return 0;
  const Layout layout(grid, request, choice, grid.ranks[0]);
  const int block = static_cast<int>(layout.my_block().size());
  const double bytes = bytes_of(request);
  if (layout.block_count() == 1) {
    const Cost cost = layout.whole_row()->cost(request.collective, block, bytes, choice.lanes);
    return seconds(cost, memory_link(grid));
  }
  const double network = network_seconds(grid, request, layout, choice.lanes);
  if (block == 1) return network;
  const Cost in_block = uses_node_leader(layout, request, choice.lanes)
                            ? Cost{2, 2 * (block + 1) * bytes}
                            : block_cost(request.collective, block, bytes, choice.lanes);
  const double memory = seconds(in_block, memory_link(grid));
  return std::max(memory, network) + std::min(memory, network) / choice.lanes;
}

}  // namespace tutti::plan
