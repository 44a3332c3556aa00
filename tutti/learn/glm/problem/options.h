// What is asked of a fit, and what it gives.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/learn/glm/problem/loss.h"

namespace tutti::learn {

enum class Solver : std::uint8_t {
  kAuto,
  kNewton,         // whole Hessian and Cholesky: few dense columns
  kNewtonCg,       // Hessian by products, preconditioned conjugate gradients
  kSdca,           // stochastic dual coordinate ascent, a replica per part
  kWorkingSet,     // coordinates by columns, for l1
  kInteriorPoint,  // interior points of the dual, for the hinge loss on few columns
};
std::string_view name_of(Solver solver);
// The inverse; throws ConfigError that lists the names.
Solver parse_solver(std::string_view name);
std::vector<std::string> solver_names();

// How far a fit is.
struct Progress {
  int iteration = 0;
  double passes = 0;  // over the data; a sample counts by its share
  double seconds = 0;
  double objective = 0;
  double dual_gap = 0;  // the optimum is not further below `objective` than this
};

// Minimises  sum over rows of weight * loss  +  l2 / 2 * |w|^2  +  l1 * |w|_1.
struct GlmOptions {
  Loss loss = Loss::kLogistic;
  double l1 = 0, l2 = 1;
  bool fit_intercept = true;
  bool penalise_intercept = false;  // as if it were the weight of a column of `intercept_value`
  double intercept_value = 1;
  Solver solver = Solver::kAuto;
  // Stops when the duality gap is at most this share of the objective.
  double tolerance = 1e-6;
  int max_iterations = 1000;
  int threads = 0;  // 0: one per processor
  std::uint64_t seed = 0;
  // Where to begin, or empty: one coefficient per column; of several classes at once, class by
  // class, with the intercepts beside them.
  std::vector<double> start_coefficients = {};
  double start_intercept = 0;
  std::vector<double> start_intercepts = {};  // several classes: one per class, or empty: 0
  // Solver sdca over ranks: rounds of one rank by itself between two exchanges. 0: chosen from what
  // computing and communication are measured to take, so bits may differ from run to run.
  int inner_rounds = 0;
  // The other ranks with their rows, or null. Every rank must ask for the same.
  comm::Communicator* ranks = nullptr;
  // Called after each iteration, on the calling thread; false ends the fit with what is there.
  std::function<bool(const Progress&)> on_progress = {};
  // For fits from a file larger than memory, where an iteration can take long: asked before every
  // chunk, on the calling thread; true ends the fit with the weights that are there, objective and
  // gap being those of the last iteration. Not asked over ranks, who would wait for each other.
  std::function<bool()> should_stop = {};
};

struct GlmModel {
  std::vector<double> coefficients;  // one per column
  double intercept = 0;
  double objective = 0, dual_gap = 0;
  bool has_converged = false;
  Solver solver = Solver::kAuto;  // that did it
  int inner_rounds = 0;           // of sdca over ranks, at the end
  std::vector<Progress> history;

  int iterations() const { return history.empty() ? 0 : history.back().iteration; }
};

struct MultinomialModel {
  std::vector<double> coefficients;  // class by class, one per column
  std::vector<double> intercepts;    // one per class; they sum to 0
  double objective = 0, dual_gap = 0;
  bool has_converged = false;
  std::vector<Progress> history;
};

}  // namespace tutti::learn
