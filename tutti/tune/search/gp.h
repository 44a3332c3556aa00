// Bayesian optimisation with Gaussian processes.
#pragma once

#include "tutti/tune/search/sampler.h"

namespace tutti::tune {

struct GpOptions {
  int startup_trials =
      0;  // quasi-random trials at the beginning; 0: twice the number of parameters, 5 to 10
  std::size_t most_trials = 300;  // that a process is fitted to: the best half and the newest half
};

std::unique_ptr<Sampler> make_gp_sampler(const GpOptions& options, std::uint64_t seed);

}  // namespace tutti::tune
