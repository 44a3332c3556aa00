#include "tutti/tune/search/algorithms.h"

#include <fmt/format.h>

#include <algorithm>

#include "tutti/core/error.h"
#include "tutti/tune/search/auto_sampler.h"
#include "tutti/tune/search/cma_es.h"
#include "tutti/tune/search/gp.h"
#include "tutti/tune/search/nsga2.h"
#include "tutti/tune/search/tpe.h"

namespace tutti::tune {
namespace {

constexpr int kGridPoints = 5;  // values of a continuous parameter

std::unique_ptr<Sampler> make_grid(const SearchPlan& plan) {
  if (plan.space.empty()) {
    throw ConfigError("DDL-10-07",
                      "Grid search needs the whole space in advance. Declare it, or use another "
                      "algorithm.");
  }
  return make_grid_sampler(plan.space, kGridPoints, plan.seed);
}

}  // namespace

const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> table = {
      {"auto", "chosen by budget, space and number of objectives",
       [](const SearchPlan& plan) { return make_auto_sampler(plan); }},
      {"random", "independent random values",
       [](const SearchPlan& plan) { return make_random_sampler(plan.seed); }},
      {"grid", "every combination once; 5 values of a continuous parameter", &make_grid},
      {"sobol", "quasi-random points that cover the space evenly",
       [](const SearchPlan& plan) { return make_sobol_sampler(plan.seed); }},
      {"tpe", "tree-structured Parzen estimator",
       [](const SearchPlan& plan) { return make_tpe_sampler({}, plan.seed); }},
      {"gp", "Bayesian optimisation with Gaussian processes",
       [](const SearchPlan& plan) { return make_gp_sampler({}, plan.seed); }},
      {"cma_es", "covariance matrix adaptation, for many trials of numeric parameters",
       [](const SearchPlan& plan) { return make_cma_es_sampler({}, plan.seed); }},
      {"nsga2", "genetic algorithm for several objectives",
       [](const SearchPlan& plan) { return make_nsga2_sampler({}, plan.seed); }},
  };
  return table;
}

std::unique_ptr<Sampler> make_sampler(const std::string& algorithm, const SearchPlan& plan) {
  std::string names;
  for (const Algorithm& one : algorithms()) {
    if (one.name == algorithm) return one.make(plan);
    names += (names.empty() ? "" : ", ") + one.name;
  }
  throw ConfigError("DDL-10-07", fmt::format("Unknown search algorithm '{}'. Valid algorithms: {}.",
                                             algorithm, names));
}

}  // namespace tutti::tune
