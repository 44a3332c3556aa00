// NSGA-II.
//
// The first generation is random. A later one has children of the parents: the `population` best of the previous
// parents and their children, by front of non-dominated trials and then by crowding distance. Each parent of a child is
// the better of two drawn at random. A child takes each parameter from one of its two parents, and some parameters are
// drawn again: a choice at random, a number near the inherited one.
//
// A trial notes its generation, so the parents follow from the history. A generation is complete when `population` of
// its trials have finished; trials of older generations that finish later take part in the next selection.
#include "tutti/tune/search/nsga2.h"

#include <algorithm>
#include <cmath>

#include "tutti/tune/search/ranking.h"

namespace tutti::tune {
namespace {

constexpr const char* kNsga2Generation = "nsga2:generation";
constexpr double kMutationWidth = 0.1;  // of the unit interval

std::int64_t generation_of(const Trial& trial) {
  const auto note = trial.system_attributes.find(kNsga2Generation);
  return note == trial.system_attributes.end() ? -1 : std::stoll(note->second);
}

class Nsga2Sampler : public Sampler {
 public:
  Nsga2Sampler(const Nsga2Options& options, std::uint64_t seed)
      : Sampler(seed), options_(options), random_(make_random_sampler(seed)) {}

  Suggestion suggest(const History& history, const Space& space, std::int64_t number) override {
    const std::int64_t generation = current_generation(history);
    Suggestion suggestion;
    if (generation == 0 || space.empty()) {
      suggestion = random_->suggest(history, space, number);
    } else {
      Random random = random_for(seed(), number, space);
      suggestion.values = child(history, space, parents_of(history, generation), number, random);
    }
    suggestion.notes[kNsga2Generation] = std::to_string(generation);
    return suggestion;
  }

 private:
  std::size_t population() const { return static_cast<std::size_t>(options_.population); }

  std::int64_t current_generation(const History& history) const {
    std::vector<std::size_t> sizes;
    for (const Trial& trial : history.trials()) {
      const std::int64_t generation = generation_of(trial);
      if (generation < 0 || trial.state != TrialState::kComplete) continue;
      const auto at = static_cast<std::size_t>(generation);
      if (sizes.size() <= at) sizes.resize(at + 1);
      ++sizes[at];
    }
    std::int64_t generation = 0;
    for (const std::size_t size : sizes) {
      if (size < population()) break;
      ++generation;
    }
    return generation;
  }

  // The best trials of all generations before `generation`.
  std::vector<std::int64_t> parents_of(const History& history, std::int64_t generation) const {
    std::vector<std::int64_t> candidates;
    for (const Trial& trial : history.trials()) {
      const std::int64_t own = generation_of(trial);
      if (own >= 0 && own < generation && trial.state == TrialState::kComplete) {
        candidates.push_back(trial.number);
      }
    }
    split_best(history, candidates, population());
    candidates.resize(std::min(candidates.size(), population()));
    return candidates;
  }

  static const Trial& better_of_two(const History& history,
                                    const std::vector<std::int64_t>& parents, Random& random) {
    const Trial& a = history.trial(parents[random.below(parents.size())]);
    const Trial& b = history.trial(parents[random.below(parents.size())]);
    if (a.violation() != b.violation()) return a.violation() < b.violation() ? a : b;
    return dominates(history, b, a) ? b : a;
  }

  std::vector<double> child(const History& history, const Space& space,
                            const std::vector<std::int64_t>& parents, std::int64_t number,
                            Random& random) {
    const Trial& first = better_of_two(history, parents, random);
    const Trial& second = better_of_two(history, parents, random);
    const bool is_crossed = random.uniform() < options_.crossover_probability;
    const double mutation = options_.mutation_probability > 0
                                ? options_.mutation_probability
                                : 1 / static_cast<double>(space.size());
    const std::vector<double> fresh = random_->suggest(history, space, number).values;
    std::vector<double> values;
    for (std::size_t i = 0; i < space.size(); ++i) {
      const bool is_swapped = is_crossed && random.uniform() < options_.swap_probability;
      const TrialParameter* gene = (is_swapped ? second : first).find(space[i].name);
      const bool is_mutated = random.uniform() < mutation;
      const double step = kMutationWidth * random.gaussian();
      const Distribution& distribution = space[i].distribution;
      if (!gene || !distribution.contains(gene->value) ||
          (is_mutated && distribution.is_categorical())) {
        values.push_back(fresh[i]);
      } else if (is_mutated) {
        const double position = std::clamp(distribution.position_of(gene->value) + step, 0.0, 1.0);
        values.push_back(distribution.value_at(position));
      } else {
        values.push_back(gene->value);
      }
    }
    return values;
  }

  Nsga2Options options_;
  std::unique_ptr<Sampler> random_;
};

}  // namespace

std::unique_ptr<Sampler> make_nsga2_sampler(const Nsga2Options& options, std::uint64_t seed) {
  return std::make_unique<Nsga2Sampler>(options, seed);
}

}  // namespace tutti::tune
