// Non-dominated sorting genetic algorithm (NSGA-II), for several objectives.
#pragma once

#include "tutti/tune/search/sampler.h"

namespace tutti::tune {

struct Nsga2Options {
  int population = 50;  // trials of a generation
  double crossover_probability = 0.9;
  double swap_probability = 0.5;    // of each parameter in a crossover
  double mutation_probability = 0;  // of each parameter; 0: 1 / number of parameters
};

std::unique_ptr<Sampler> make_nsga2_sampler(const Nsga2Options& options, std::uint64_t seed);

}  // namespace tutti::tune
