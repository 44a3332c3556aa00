// Grid search.
//
// A combination is a number in the mixed radix of the counts of values. A trial takes the combination at the first free
// position of a permutation, and notes the position. The permutation is not stored: it is a bijection on the smallest
// power of four that covers the grid (four Feistel rounds), and positions outside of the grid are mapped again until
// they are inside.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>

#include "tutti/core/error.h"
#include "tutti/tune/search/sampler.h"

namespace tutti::tune {
namespace {

constexpr const char* kPosition = "grid:position";
constexpr double kMostCombinations = 2147483648.0;

class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t seed)
      : size_(size),
        half_bits_((std::bit_width(std::max<std::uint64_t>(size, 2) - 1) + 1) / 2),
        seed_(seed) {}

  std::uint64_t operator()(std::uint64_t index) const {
    do {
      index = shuffled(index);
    } while (index >= size_);
    return index;
  }

 private:
  std::uint64_t shuffled(std::uint64_t index) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = index >> half_bits_, right = index & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t mixed = mixed_seed(mixed_seed(seed_, round), right) & mask;
      left = std::exchange(right, left ^ mixed);
    }
    return (left << half_bits_) | right;
  }

  std::uint64_t size_;
  int half_bits_;
  std::uint64_t seed_;
};

std::vector<double> grid_values(const Distribution& distribution, int points) {
  std::vector<double> values;
  if (distribution.is_discrete() || distribution.is_single()) {
    const double count = distribution.cardinality();
    for (double i = 0; i < count; ++i) values.push_back(distribution.low + i * distribution.step);
  } else {
    for (int i = 0; i < points; ++i) {
      values.push_back(
          distribution.value_at(points == 1 ? 0.5 : static_cast<double>(i) / (points - 1)));
    }
  }
  return values;
}

class GridSampler : public Sampler {
 public:
  GridSampler(const Space& space, int points, std::uint64_t seed)
      : Sampler(seed),
        space_(space),
        size_(checked_size(space, points)),
        permutation_(size_, seed) {
    for (const Parameter& parameter : space) {
      values_[parameter.name] = grid_values(parameter.distribution, points);
    }
  }

  Suggestion suggest(const History& history, const Space& space, std::int64_t) override {
    const std::set<std::uint64_t> taken = taken_positions(history);
    std::uint64_t position = 0;
    while (taken.contains(position)) ++position;
    position %= size_;  // a full grid starts again
    std::uint64_t combination = permutation_(position);
    std::map<std::string, double> chosen;
    for (const Parameter& parameter : space_) {
      const std::vector<double>& values = values_[parameter.name];
      chosen[parameter.name] = values[combination % values.size()];
      combination /= values.size();
    }
    Suggestion suggestion{{}, {{kPosition, std::to_string(position)}}};
    for (const Parameter& parameter : space) {
      const auto at = chosen.find(parameter.name);
      if (at == chosen.end()) {
        throw ConfigError("DDL-10-06", fmt::format("Parameter '{}' is not part of the grid. Add it "
                                                   "to the search space of the sampler.",
                                                   parameter.name));
      }
      suggestion.values.push_back(at->second);
    }
    return suggestion;
  }

  double suggest_alone(const History& history, const Parameter& parameter,
                       std::int64_t number) override {
    return suggest(history, {parameter}, number).values.front();
  }

  Space joint_space(const History&) override { return space_; }

  bool is_exhausted(const History& history) const override {
    return taken_positions(history).size() >= size_;
  }

 private:
  static std::uint64_t checked_size(const Space& space, int points) {
    double size = 1;
    for (const Parameter& parameter : space) {
      const Distribution& distribution = parameter.distribution;
      size *= distribution.is_discrete() ? distribution.cardinality()
              : distribution.is_single() ? 1
                                         : points;
    }
    if (size > kMostCombinations) {
      throw ConfigError("DDL-10-05",
                        fmt::format("The grid has {:.3g} combinations; at most 2^31 are "
                                    "possible. Use fewer parameters or larger steps, or "
                                    "another algorithm.",
                                    size));
    }
    return static_cast<std::uint64_t>(size);
  }

  // Positions of the permutation that trials have taken. Those of failed trials are free again.
  static std::set<std::uint64_t> taken_positions(const History& history) {
    std::set<std::uint64_t> taken;
    for (const Trial& trial : history.trials()) {
      const auto at = trial.system_attributes.find(kPosition);
      if (at == trial.system_attributes.end() || trial.state == TrialState::kFailed) continue;
      taken.insert(std::stoull(at->second));
    }
    return taken;
  }

  Space space_;
  std::uint64_t size_;
  Permutation permutation_;
  std::map<std::string, std::vector<double>> values_;
};

}  // namespace

std::unique_ptr<Sampler> make_grid_sampler(const Space& space, int points, std::uint64_t seed) {
  return std::make_unique<GridSampler>(space, points, seed);
}

}  // namespace tutti::tune
