#include "tutti/tune/search/sampler.h"

namespace tutti::tune {
namespace {

// FNV-1a: the same on every machine, unlike std::hash.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return hash;
}

class RandomSampler : public Sampler {
 public:
  using Sampler::Sampler;

  Suggestion suggest(const History&, const Space& space, std::int64_t number) override {
    Suggestion suggestion;
    for (const Parameter& parameter : space) {
      suggestion.values.push_back(random_value(parameter, seed(), number));
    }
    return suggestion;
  }

  Space joint_space(const History&) override { return {}; }
};

}  // namespace

Random random_for(std::uint64_t seed, std::int64_t number, const Space& space) {
  const std::uint64_t stream = space.empty() ? 0 : hash_of(space.front().name);
  return Random(mixed_seed(mixed_seed(seed, static_cast<std::uint64_t>(number)), stream));
}

double random_value(const Parameter& parameter, std::uint64_t seed, std::int64_t number) {
  Random random = random_for(seed, number, {parameter});
  return parameter.distribution.value_at(random.uniform());
}

double Sampler::suggest_alone(const History&, const Parameter& parameter, std::int64_t number) {
  return random_value(parameter, seed_, number);
}

std::unique_ptr<Sampler> make_random_sampler(std::uint64_t seed) {
  return std::make_unique<RandomSampler>(seed);
}

}  // namespace tutti::tune
