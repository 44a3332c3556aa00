#include "tutti/plan/candidates.h"

#include <algorithm>
#include <cmath>

#include "tutti/core/error.h"
#include "tutti/plan/algorithms/table.h"
#include "tutti/plan/cost.h"

namespace tutti::plan {
namespace {

constexpr double kKiB = 1024, kMiB = 1024 * kKiB;
constexpr int kMostLanes = 16;
constexpr double kLeastRailBytes = 32 * kKiB;  // below, the extra message costs more than it saves
constexpr double kLeastTwoTrees = 64 * kKiB;   // from here on, double_tree uses both of its trees

struct ChunkRule {
  double up_to;  // bytes of the vector
  double chunk;
};
constexpr ChunkRule kChunks[] = {{8 * kMiB, 1 * kMiB}, {32 * kMiB, 2 * kMiB}, {INFINITY, 4 * kMiB}};

bool is_one_host(const topo::Grid& grid) {
  if (!grid.is_even()) return grid.hosts.size() == 1;
  return !grid.dimensions.empty() &&
         std::all_of(grid.dimensions.begin(), grid.dimensions.end(),
                     [](const topo::Dimension& d) { return d.mapped || d.size == 1; });
}

// Returns "direct" once for each leading mapped dimension.
std::vector<std::string> leading_direct(const topo::Grid& grid) {
  std::vector<std::string> names;
  for (const topo::Dimension& dimension : grid.dimensions) {
    if (!dimension.mapped && dimension.size != 1) break;
    names.push_back("direct");
  }
  return names;
}

// Algorithms that support `collective` over a network and are considered by default. Pairwise reductions need scratch
// memory of the size of the vector, so they are considered only if the result must be reproducible.
std::vector<std::string> rows_for(Collective collective, bool reproducible, bool uniform) {
  std::vector<std::string> names;
  for (const Algorithm& row : algorithms()) {
    if (row.build == nullptr || row.is_one_step || row.is_mapped) continue;
    if (row.name == "pairwise" && is_reduction(collective) && !reproducible) continue;
    if (row.supports(collective, {2, false, reproducible, uniform})) names.emplace_back(row.name);
  }
  return names;
}

// Lists of algorithm names, one list per candidate.
std::vector<std::vector<std::string>> combinations(const topo::Grid& grid, const Request& request) {
  const Collective collective = request.collective;
  const bool uniform = request.send_counts.empty();
  std::vector<std::vector<std::string>> lists;
  const bool can_direct = find_algorithm("direct")->supports(collective, {2, true, false, uniform});
  if (is_one_host(grid) && can_direct) return {{row_on_host(grid, request)}};
  if (request.reproducible && is_reduction(collective)) return {{"pairwise"}};
  const auto direct = is_one_host(grid) ? std::vector<std::string>{} : leading_direct(grid);
  const auto add = [&](std::vector<std::string> names, const std::string& last) {
    names.push_back(last);
    lists.push_back(std::move(names));
  };
  const bool by_axis = collective == Collective::kAllReduce ||
                       collective == Collective::kReduceScatter ||
                       collective == Collective::kAllGather;
  // Trailing dimensions of size one need no algorithm.
  std::size_t depth = grid.dimensions.size();
  while (depth > 0 && grid.dimensions[depth - 1].size == 1) --depth;
  for (const std::string& last : rows_for(collective, request.reproducible, uniform)) {
    add(direct, last);
    if (!by_axis || direct.size() + 1 >= depth) continue;
    for (const std::string& other : rows_for(Collective::kReduceScatter, false, true)) {
      auto names = direct;
      names.resize(depth - 1, other);
      add(std::move(names), last);
    }
  }
  return lists;
}

}  // namespace

bool reduces_on_host(const topo::Grid& grid, const Request& request) {
  return request.collective == Collective::kAllReduce && is_one_host(grid) && grid.size() > 1;
}

std::string row_on_host(const topo::Grid& grid, const Request& request) {
  if (!reduces_on_host(grid, request)) return "direct";
  const bool is_eager = bytes_of(request) <= static_cast<double>(request.eager_bytes);
  return is_eager ? "host_eager" : "host_direct";
}

Choice with_defaults(const topo::Grid& grid, const Request& request, Choice choice) {
  const double bytes = bytes_of(request);
  const std::string& last = choice.algorithms.back();
  const Algorithm* row = find_algorithm(last);
  choice.lanes = 1;
  if (is_on_vector(request.collective) && row && !row->is_one_step && !row->is_mapped) {
    choice.lanes = default_lanes(bytes);
    if (last == "double_tree" && bytes >= kLeastTwoTrees) choice.lanes = std::max(2, choice.lanes);
  }
  const double rails = std::max(1.0, std::floor(bytes / kLeastRailBytes));
  choice.rails = rails < grid.size() ? static_cast<int>(rails) : 0;
  return choice;
}

std::optional<double> try_predict(const topo::Grid& grid, const Request& request,
                                  const Choice& choice) {
  try {
    return predict(grid, request, choice);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

int default_lanes(double bytes) {
  if (bytes < kMiB) return 1;
  const auto rule = std::find_if(std::begin(kChunks), std::end(kChunks),
                                 [&](const ChunkRule& r) { return bytes <= r.up_to; });
  return std::clamp(static_cast<int>(bytes / rule->chunk), 1, kMostLanes);
}

std::vector<Choice> candidates(const topo::Grid& grid, const Request& request) {
  std::vector<Choice> choices;
  for (auto& names : combinations(grid, request)) {
    Choice choice = with_defaults(grid, request, {std::move(names)});
    if (const auto seconds = try_predict(grid, request, choice)) {
      choice.seconds = *seconds;
      choices.push_back(std::move(choice));
    }
  }
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.seconds < b.seconds; });
  return choices;
}

}  // namespace tutti::plan
