#include "tutti/plan/choose.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "tutti/core/error.h"
#include "tutti/plan/algorithms/table.h"
#include "tutti/plan/cost.h"

namespace tutti::plan {
namespace {

constexpr double kKiB = 1024, kMiB = 1024 * kKiB;
constexpr int kMostLanes = 16;
constexpr double kLeastRailBytes = 4 * kKiB;  // below, another message costs more than it saves
constexpr double kLeastTwoTrees = 64 * kKiB;  // from here on double_tree uses both its trees

struct ChunkRule {
  double up_to;  // bytes of the vector
  double chunk;
};
constexpr ChunkRule kChunks[] = {{8 * kMiB, 1 * kMiB}, {32 * kMiB, 2 * kMiB}, {INFINITY, 4 * kMiB}};

bool is_cut_in_lanes(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kBroadcast ||
         collective == Collective::kReduce;
}

bool is_one_host(const topo::Grid& grid) {
  if (!grid.is_even()) return grid.hosts.size() == 1;
  return !grid.dimensions.empty() &&
         std::all_of(grid.dimensions.begin(), grid.dimensions.end(),
                     [](const topo::Dimension& d) { return d.mapped || d.size == 1; });
}

// "direct" for each leading mapped dimension.
std::vector<std::string> leading_direct(const topo::Grid& grid) {
  std::vector<std::string> names;
  for (const topo::Dimension& dimension : grid.dimensions) {
    if (!dimension.mapped) break;
    names.push_back("direct");
  }
  return names;
}

// Rows that can do `collective` over a network, and are fit for it when nobody asks for them by
// name: pairwise folds need the vector's size in scratch, so only reproducible ones use it.
std::vector<std::string> rows_for(Collective collective, bool reproducible, bool uniform) {
  std::vector<std::string> names;
  for (const Algorithm& row : algorithms()) {
    if (row.build == nullptr || row.name == "vendor" || row.name == "direct") continue;
    if (row.name == "pairwise" && is_reduction(collective) && !reproducible) continue;
    if (row.supports(collective, {2, false, reproducible, uniform})) names.emplace_back(row.name);
  }
  return names;
}

// What the request and the algorithms leave open: lanes and rails.
Choice with_defaults(const topo::Grid& grid, const Request& request, Choice choice) {
  const double bytes = bytes_of(request);
  const std::string& last = choice.algorithms.back();
  choice.lanes = 1;
  if (is_cut_in_lanes(request.collective) && last != "vendor" && last != "direct") {
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

// The choices as lists of names.
std::vector<std::vector<std::string>> combinations(const topo::Grid& grid, const Request& request) {
  const Collective collective = request.collective;
  const bool uniform = request.send_counts.empty();
  std::vector<std::vector<std::string>> lists;
  const bool can_direct = find_algorithm("direct")->supports(collective, {2, true, false, uniform});
  if (is_one_host(grid) && can_direct) return {{"direct"}};
  if (request.reproducible && is_reduction(collective)) return {{"pairwise"}};
  const auto direct = is_one_host(grid) ? std::vector<std::string>{} : leading_direct(grid);
  const auto add = [&](std::vector<std::string> names, const std::string& last) {
    names.push_back(last);
    lists.push_back(std::move(names));
  };
  const bool by_axis = collective == Collective::kAllReduce ||
                       collective == Collective::kReduceScatter ||
                       collective == Collective::kAllGather;
  for (const std::string& last : rows_for(collective, request.reproducible, uniform)) {
    add(direct, last);
    if (!by_axis || direct.size() + 1 >= grid.dimensions.size()) continue;
    for (const std::string& other : rows_for(Collective::kReduceScatter, false, true)) {
      auto names = direct;
      names.resize(grid.dimensions.size() - 1, other);
      add(std::move(names), last);
    }
  }
  return lists;
}

// Sizes between two powers of two are one class.
int size_class_of(double bytes) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes)));
}

// The fastest of one size class.
const Measurement* fastest(std::span<const Measurement> measured, Collective collective,
                           int size_class) {
  const Measurement* best = nullptr;
  for (const Measurement& m : measured) {
    if (m.collective != collective || size_class_of(static_cast<double>(m.bytes)) != size_class)
      continue;
    if (best == nullptr || m.choice.seconds < best->choice.seconds) best = &m;
  }
  return best;
}

// The winner of this size, or of the nearest sizes below and above, whichever the model prefers.
std::optional<Choice> by_measurement(const topo::Grid& grid, const Request& request,
                                     std::span<const Measurement> measured) {
  const int size_class = size_class_of(bytes_of(request));
  const Measurement* exact = fastest(measured, request.collective, size_class);
  if (exact != nullptr && try_predict(grid, request, exact->choice)) {
    Choice choice = exact->choice;
    choice.reason = fmt::format("fastest measured at {} bytes", exact->bytes);
    return choice;
  }
  std::optional<Choice> best;
  for (const int direction : {-1, 1}) {
    const Measurement* found = nullptr;
    for (int c = size_class + direction; c >= 0 && c <= 64 && found == nullptr; c += direction) {
      found = fastest(measured, request.collective, c);
    }
    if (found == nullptr) continue;
    Choice choice = with_defaults(grid, request, found->choice);
    const auto seconds = try_predict(grid, request, choice);
    if (!seconds) continue;
    choice.seconds = *seconds;
    choice.reason =
        fmt::format("fastest measured at {} bytes, predicted for this size", found->bytes);
    if (!best || choice.seconds < best->seconds) best = choice;
  }
  return best;
}

// The mode's algorithms, each on its dimension or the last one over all that are left; none when
// they cannot do this collective.
std::optional<Choice> by_mode(const topo::Grid& grid, const Request& request, const Mode& mode) {
  const auto each = mode.algorithms_on(grid);
  auto as_one = each;
  while (as_one.size() > 1 && as_one[as_one.size() - 2] != "direct") as_one.pop_back();
  as_one.back() = each.back();
  for (const auto& names : {each, as_one}) {
    Choice choice = with_defaults(grid, request, {names});
    const auto seconds = try_predict(grid, request, choice);
    if (!seconds) continue;
    choice.seconds = *seconds;
    choice.reason = "by option";
    return choice;
  }
  if (request.collective == Collective::kAllReduce && !request.reproducible) {
    predict(grid, request, {each});  // throws: says why it cannot be
  }
  return std::nullopt;
}

Choice by_model(const topo::Grid& grid, const Request& request) {
  const auto all = candidates(grid, request);
  Choice choice = all.front();
  choice.reason = all.size() == 1
                      ? "the only one that can"
                      : fmt::format("predicted {:.1f} us, next {} {:.1f} us", 1e6 * choice.seconds,
                                    all[1].text(), 1e6 * all[1].seconds);
  return choice;
}

Choice with_override(Choice choice, const Request& request, const Override& override) {
  if (override.chunk_bytes > 0 && is_cut_in_lanes(request.collective)) {
    choice.lanes = static_cast<int>(std::clamp(
        std::ceil(bytes_of(request) / static_cast<double>(override.chunk_bytes)), 1.0, 1e6));
  }
  if (override.lanes > 0 && is_cut_in_lanes(request.collective)) choice.lanes = override.lanes;
  if (choice.algorithms.back() == "vendor") choice.lanes = 1;
  if (override.rails > 0) choice.rails = override.rails;
  return choice;
}

}  // namespace

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

Choice choose(const topo::Grid& grid, const Request& request, std::span<const Measurement> measured,
              const Override& override) {
  std::optional<Choice> choice;
  const bool has_mode = !override.mode.algorithms.empty();
  if (has_mode) choice = by_mode(grid, request, override.mode);
  if (!choice && !has_mode && !request.reproducible)
    choice = by_measurement(grid, request, measured);
  if (!choice) {
    choice = by_model(grid, request);
    if (has_mode) {
      choice->reason =
          fmt::format("the mode's algorithms cannot do {}{}: {}", name_of(request.collective),
                      request.reproducible ? " reproducibly" : "", choice->reason);
    }
  }
  return with_override(*std::move(choice), request, override);
}

}  // namespace tutti::plan
