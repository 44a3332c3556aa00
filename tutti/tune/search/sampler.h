// Samplers: what to try next.
//
// A sampler is a function of the history, the number of the trial and its seed. It keeps no state that the history does
// not determine, so a study that is resumed continues as if it had never stopped. Caches are allowed.
//
// A program may declare its whole space, or ask for one parameter after the other. At the start of a trial the study
// asks for all parameters of `joint_space`; parameters that were not in it are asked for one by one later.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tutti/core/random.h"
#include "tutti/tune/history.h"

namespace tutti::tune {

struct Suggestion {
  std::vector<double> values;  // one per parameter of the space
  // JSON, stored with the trial as system attributes for later calls of the same sampler.
  Attributes notes = {};
};

// Facts about a study that are known before it starts.
struct SearchPlan {
  std::int64_t trials = 0;  // 0: unknown
  int parallel = 1;         // trials at once
  std::uint64_t seed = 0;
  Space space = {};  // empty: the program asks for one parameter after the other
};

// Not thread-safe.
class Sampler {
 public:
  explicit Sampler(std::uint64_t seed) : seed_(seed) {}
  virtual ~Sampler() = default;

  // Draws values for all parameters of `space` for the trial `number`, which is part of the history and running.
  // Conditional parameters get a value whether or not they exist in this trial.
  virtual Suggestion suggest(const History& history, const Space& space, std::int64_t number) = 0;

  // Draws one parameter that was not in the joint space of the trial. Default: at random.
  virtual double suggest_alone(const History& history, const Parameter& parameter,
                               std::int64_t number);

  // The parameters to draw together when a program does not declare its space. Default: those of every trial.
  virtual Space joint_space(const History& history) { return intersection_space(history); }

  // True if no further trial would be new, such as at the end of a grid.
  virtual bool is_exhausted(const History& history) const {
    (void)history;
    return false;
  }

  // Why the sampler draws as it does; empty: nothing to explain.
  virtual std::string reason() const { return {}; }

 protected:
  std::uint64_t seed() const { return seed_; }

 private:
  std::uint64_t seed_;
};

// A random stream for the trial `number`, different for spaces that begin with another parameter.
Random random_for(std::uint64_t seed, std::int64_t number, const Space& space);
// A uniformly distributed value, independent of other parameters and trials.
double random_value(const Parameter& parameter, std::uint64_t seed, std::int64_t number);

std::unique_ptr<Sampler> make_random_sampler(std::uint64_t seed);

// Every combination once, in an order shuffled by `seed`; of a continuous parameter `points` values, ends included.
// Throws ConfigError (DDL-10-05) for more than 2^31 combinations.
std::unique_ptr<Sampler> make_grid_sampler(const Space& space, int points, std::uint64_t seed);

// Scrambled Sobol points: low-discrepancy points that fill the cube evenly for any number of trials.
std::unique_ptr<Sampler> make_sobol_sampler(std::uint64_t seed);

}  // namespace tutti::tune
