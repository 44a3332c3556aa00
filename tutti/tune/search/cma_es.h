// Covariance matrix adaptation evolution strategy (CMA-ES).
#pragma once

#include "tutti/tune/search/sampler.h"

namespace tutti::tune {

struct CmaEsOptions {
  int population = 0;          // trials of a generation; 0: 4 + floor(3 log(number of parameters))
  double initial_width = 0.3;  // standard deviation of the first generation, of the unit interval
};

// Categorical and single-valued parameters are drawn at random.
std::unique_ptr<Sampler> make_cma_es_sampler(const CmaEsOptions& options, std::uint64_t seed);

}  // namespace tutti::tune
