// Tree-structured Parzen estimator (TPE).
#pragma once

#include "tutti/tune/search/sampler.h"

namespace tutti::tune {

struct TpeOptions {
  int startup_trials = 10;      // random trials at the beginning
  int candidates = 24;          // points compared for each trial
  bool is_multivariate = true;  // estimate the parameters of a trial together
  bool is_grouped =
      true;  // with conditional parameters: together with those that occur in the same trials
  bool counts_running =
      true;  // treat running trials as bad ones, so parallel trials differ (constant liar)
};

std::unique_ptr<Sampler> make_tpe_sampler(const TpeOptions& options, std::uint64_t seed);

}  // namespace tutti::tune
