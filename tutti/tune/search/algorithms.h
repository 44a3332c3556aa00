// The search algorithms by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tutti/tune/search/sampler.h"

namespace tutti::tune {

struct Algorithm {
  std::string name, summary;
  std::unique_ptr<Sampler> (*make)(const SearchPlan&);
};

// random, grid, sobol, tpe, gp, cma_es, nsga2 and auto, the default.
const std::vector<Algorithm>& algorithms();

// Throws ConfigError (DDL-10-07) for an unknown name, or a grid without a declared space.
std::unique_ptr<Sampler> make_sampler(const std::string& algorithm, const SearchPlan& plan);

}  // namespace tutti::tune
