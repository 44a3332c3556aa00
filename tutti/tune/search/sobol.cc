// Quasi-random search with Sobol points.
//
// Point n of the Sobol sequence is one point of the cube. Each coordinate is shifted digitally (exclusive or with a
// random number), which keeps the points evenly spread and makes the sequence depend on the seed.
#include <algorithm>
#include <boost/random/sobol.hpp>

#include "tutti/tune/search/sampler.h"

namespace tutti::tune {
namespace {

constexpr std::size_t kMostDimensions = 3667;  // of Boost's direction numbers

class SobolSampler : public Sampler {
 public:
  using Sampler::Sampler;

  Suggestion suggest(const History&, const Space& space, std::int64_t number) override {
    Suggestion suggestion;
    const std::size_t dimensions = std::min(space.size(), kMostDimensions);
    if (dimensions == 0) return suggestion;
    boost::random::sobol_engine<std::uint64_t, 64> engine(dimensions);
    if (number > 0)
      engine.seed(
          static_cast<std::uint64_t>(number - 1));  // point 0, the origin, is not in the engine
    for (std::size_t i = 0; i < space.size(); ++i) {
      const Parameter& parameter = space[i];
      Random random = random_for(seed(), i < dimensions ? 0 : number, {parameter});
      const std::uint64_t bits = random.next() ^ (i < dimensions && number > 0 ? engine() : 0);
      suggestion.values.push_back(parameter.distribution.value_at(unit_interval(bits)));
    }
    return suggestion;
  }
};

}  // namespace

std::unique_ptr<Sampler> make_sobol_sampler(std::uint64_t seed) {
  return std::make_unique<SobolSampler>(seed);
}

}  // namespace tutti::tune
