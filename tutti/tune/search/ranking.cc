#include "tutti/tune/search/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

namespace tutti::tune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Sorts before others if better: kind of result, then two numbers within the kind.
using Rank = std::tuple<int, double, double>;

Rank rank_of_single(const History& history, const Trial& trial) {
  if (const double violation = trial.violation(); violation > 0) return {2, violation, 0};
  if (trial.state == TrialState::kComplete) return {0, history.loss(trial), 0};
  if (trial.reports.empty()) return {1, kInfinity, 0};
  const double report = history.signed_report(trial.reports.back().value);
  return {1, -static_cast<double>(trial.reports.back().step),
          std::isnan(report) ? kInfinity : report};
}

std::vector<Rank> ranks_of(const History& history, const std::vector<std::int64_t>& numbers) {
  std::vector<Rank> ranks;
  for (const std::int64_t number : numbers) {
    ranks.push_back(rank_of_single(history, history.trial(number)));
  }
  if (history.objectives() == 1) return ranks;
  std::vector<std::int64_t> feasible;
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (std::get<0>(ranks[i]) != 0) continue;
    feasible.push_back(numbers[i]);
    at.push_back(i);
  }
  const std::vector<int> fronts = front_ranks(history, feasible);
  const int last = fronts.empty() ? -1 : *std::max_element(fronts.begin(), fronts.end());
  for (int front = 0; front <= last; ++front) {
    std::vector<std::int64_t> members;
    std::vector<std::size_t> member_at;
    for (std::size_t i = 0; i < feasible.size(); ++i) {
      if (fronts[i] != front) continue;
      members.push_back(feasible[i]);
      member_at.push_back(at[i]);
    }
    const std::vector<double> distances = crowding_distances(history, members);
    for (std::size_t i = 0; i < members.size(); ++i) {
      ranks[member_at[i]] = {0, front, -distances[i]};
    }
  }
  return ranks;
}

}  // namespace

std::vector<int> front_ranks(const History& history, const std::vector<std::int64_t>& numbers) {
  std::vector<int> ranks(numbers.size(), -1);
  std::size_t ranked = 0;
  for (int front = 0; ranked < numbers.size(); ++front) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (ranks[i] >= 0) continue;
      const Trial& trial = history.trial(numbers[i]);
      bool is_dominated = false;
      for (std::size_t j = 0; j < numbers.size() && !is_dominated; ++j) {
        is_dominated = ranks[j] < 0 && dominates(history, history.trial(numbers[j]), trial);
      }
      if (!is_dominated) members.push_back(i);
    }
    for (const std::size_t member : members) ranks[member] = front;
    ranked += members.size();
  }
  return ranks;
}

std::vector<double> crowding_distances(const History& history,
                                       const std::vector<std::int64_t>& numbers) {
  std::vector<double> distances(numbers.size(), 0);
  std::vector<std::size_t> order(numbers.size());
  for (std::size_t objective = 0; objective < history.objectives(); ++objective) {
    const auto loss = [&](std::size_t i) {
      return history.loss(history.trial(numbers[i]), objective);
    };
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return loss(a) < loss(b); });
    if (order.empty()) continue;
    const double width = loss(order.back()) - loss(order.front());
    distances[order.front()] = distances[order.back()] = kInfinity;
    for (std::size_t i = 1; width > 0 && i + 1 < order.size(); ++i) {
      distances[order[i]] += (loss(order[i + 1]) - loss(order[i - 1])) / width;
    }
  }
  return distances;
}

void split_best(const History& history, std::vector<std::int64_t>& numbers, std::size_t count) {
  const std::vector<Rank> ranks = ranks_of(history, numbers);
  std::vector<std::size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), 0);
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(std::min(count, order.size()));
  std::nth_element(order.begin(), middle, order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(ranks[a], numbers[a]) < std::tie(ranks[b], numbers[b]);
  });
  std::vector<bool> is_best(numbers.size(), false);
  for (auto at = order.begin(); at != middle; ++at) is_best[*at] = true;
  std::vector<std::int64_t> split, others;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    (is_best[i] ? split : others).push_back(numbers[i]);
  split.insert(split.end(), others.begin(), others.end());
  numbers = std::move(split);
}

}  // namespace tutti::tune
