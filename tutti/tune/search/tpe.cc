// Tree-structured Parzen estimator.
//
// The finished trials are split into the best ones (a tenth, at most 25) and the others. One density l(x) is estimated
// from the parameters of the best, another one, g(x), from those of the others. The next trial is the point, among some
// drawn from l, where l(x) / g(x) is largest; this maximizes the expected improvement under both densities.
//
// Parameters are estimated together if they occur in the same trials, so correlations are used. Parameters that exist
// only in some trials form groups: sets of parameters that always occur together. Each group has separate densities,
// estimated from the trials that have it.
//
// In g, old trials weigh less: the weight falls linearly to 1/n for the oldest, except for the newest 25.
#include "tutti/tune/search/tpe.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tutti/tune/search/parzen.h"
#include "tutti/tune/search/position_cache.h"
#include "tutti/tune/search/ranking.h"

namespace tutti::tune {
namespace {

constexpr std::size_t kMostBest = 25;
constexpr double kBestFraction = 0.1;
constexpr std::size_t kFullWeights = 25;

using Group = std::vector<std::size_t>;                  // indices of parameters of a space
using Columns = std::vector<const std::vector<float>*>;  // positions by parameter and trial

std::vector<double> weights_by_age(std::size_t count) {
  std::vector<double> weights(count, 1);
  if (count <= kFullWeights) return weights;
  const std::size_t ramp = count - kFullWeights;
  const double lowest = 1 / static_cast<double>(count);
  for (std::size_t k = 0; k < ramp; ++k) {
    const double share = ramp == 1 ? 0 : static_cast<double>(k) / static_cast<double>(ramp - 1);
    weights[k] = lowest + share * (1 - lowest);
  }
  return weights;
}

class TpeSampler : public Sampler {
 public:
  TpeSampler(const TpeOptions& options, std::uint64_t seed)
      : Sampler(seed), options_(options), random_(make_random_sampler(seed)) {}

  Space joint_space(const History& history) override {
    if (!options_.is_multivariate) return {};
    return options_.is_grouped ? union_space(history) : intersection_space(history);
  }

  double suggest_alone(const History& history, const Parameter& parameter,
                       std::int64_t number) override {
    return suggest(history, {parameter}, number).values.front();
  }

  Suggestion suggest(const History& history, const Space& space, std::int64_t number) override {
    if (informative_trials(history) < static_cast<std::size_t>(options_.startup_trials)) {
      return random_->suggest(history, space, number);
    }
    Suggestion suggestion;
    suggestion.values.resize(space.size());
    for (const Group& group : groups_of(history, space)) {
      Space part;
      for (const std::size_t i : group) part.push_back(space[i]);
      const std::vector<double> values = suggest_group(history, part, number);
      for (std::size_t i = 0; i < group.size(); ++i) suggestion.values[group[i]] = values[i];
    }
    return suggestion;
  }

 private:
  static std::size_t informative_trials(const History& history) {
    return history.count(TrialState::kComplete) + history.count(TrialState::kPruned);
  }

  // Parameters that occur in the same trials form a group.
  std::vector<Group> groups_of(const History& history, const Space& space) {
    std::vector<Group> groups;
    std::map<std::uint64_t, std::size_t> group_by_occurrence;
    for (std::size_t i = 0; i < space.size(); ++i) {
      const std::uint64_t key = !options_.is_multivariate ? i
                                : options_.is_grouped     ? occurrence_hash(history, space[i])
                                                          : 0;
      const auto [at, is_new] = group_by_occurrence.try_emplace(key, groups.size());
      if (is_new) groups.emplace_back();
      groups[at->second].push_back(i);
    }
    return groups;
  }

  std::uint64_t occurrence_hash(const History& history, const Parameter& parameter) {
    const std::vector<float>& positions = cache_.positions(history, parameter);
    std::uint64_t hash = 0;
    for (const Trial& trial : history.trials()) {
      const auto at = static_cast<std::size_t>(trial.number);
      if (trial.is_informative() && !std::isnan(positions[at]))
        hash = (hash ^ (at + 1)) * 0x100000001b3;  // FNV-1a
    }
    return hash;
  }

  std::vector<double> suggest_group(const History& history, const Space& space,
                                    std::int64_t number) {
    const Columns columns = columns_of(history, space);
    std::vector<std::int64_t> finished, running;
    for (const Trial& trial : history.trials()) {
      if (!has_all(columns, trial.number)) continue;
      if (trial.is_informative()) finished.push_back(trial.number);
      if (trial.state == TrialState::kRunning && trial.number != number)
        running.push_back(trial.number);
    }
    const auto tenth = std::ceil(kBestFraction * static_cast<double>(finished.size()));
    const std::size_t best = std::min(kMostBest, static_cast<std::size_t>(tenth));
    split_best(history, finished, best);
    const auto middle = finished.begin() + static_cast<std::ptrdiff_t>(best);
    std::vector<std::int64_t> others(middle, finished.end());
    finished.erase(middle, finished.end());
    if (options_.counts_running) {
      others.insert(others.end(), running.begin(), running.end());
      std::inplace_merge(others.begin(), others.end() - static_cast<std::ptrdiff_t>(running.size()),
                         others.end());
    }
    Random random = random_for(seed(), number, space);
    const ParzenEstimator good = estimator(space, columns, finished);
    std::vector<Point> candidates;
    for (int i = 0; i < options_.candidates; ++i) candidates.push_back(good.sample(random));
    return values_of(space, best_candidate(candidates, good, estimator(space, columns, others)));
  }

  static const Point& best_candidate(const std::vector<Point>& candidates,
                                     const ParzenEstimator& good, const ParzenEstimator& bad) {
    const std::vector<double> log_good = good.log_densities(candidates);
    const std::vector<double> log_bad = bad.log_densities(candidates);
    std::size_t best = 0;
    for (std::size_t i = 1; i < candidates.size(); ++i) {
      if (log_good[i] - log_bad[i] > log_good[best] - log_bad[best]) best = i;
    }
    return candidates[best];
  }

  Columns columns_of(const History& history, const Space& space) {
    Columns columns;
    for (const Parameter& parameter : space)
      columns.push_back(&cache_.positions(history, parameter));
    return columns;
  }

  static bool has_all(const Columns& columns, std::int64_t number) {
    return std::none_of(columns.begin(), columns.end(), [&](const std::vector<float>* column) {
      return std::isnan((*column)[static_cast<std::size_t>(number)]);
    });
  }

  static ParzenEstimator estimator(const Space& space, const Columns& columns,
                                   const std::vector<std::int64_t>& numbers) {
    std::vector<Observations> observations;
    for (const std::vector<float>* column : columns) {
      Observations& observed = observations.emplace_back();
      observed.reserve(numbers.size());
      for (const std::int64_t number : numbers) {
        observed.push_back((*column)[static_cast<std::size_t>(number)]);
      }
    }
    return {space, std::move(observations), weights_by_age(numbers.size())};
  }

  static std::vector<double> values_of(const Space& space, const Point& point) {
    std::vector<double> values;
    for (std::size_t i = 0; i < space.size(); ++i) {
      const Distribution& distribution = space[i].distribution;
      values.push_back(distribution.is_categorical() ? point[i] : distribution.value_at(point[i]));
    }
    return values;
  }

  TpeOptions options_;
  std::unique_ptr<Sampler> random_;
  PositionCache cache_;
};

}  // namespace

std::unique_ptr<Sampler> make_tpe_sampler(const TpeOptions& options, std::uint64_t seed) {
  return std::make_unique<TpeSampler>(options, seed);
}

}  // namespace tutti::tune
