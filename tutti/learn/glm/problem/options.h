// Options and results of linear models.
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
  kNewton,         // full Hessian and Cholesky, for few dense columns
  kNewtonCg,       // Hessian-vector products, preconditioned conjugate gradients
  kSdca,           // stochastic dual coordinate ascent, one replica per part
  kWorkingSet,     // coordinate descent on a working set of columns, for l1
  kInteriorPoint,  // primal-dual interior-point method, for the hinge loss and few columns
  kDual,  // Newton's or the interior-point method on the Gram matrix of the rows, for few rows
};
std::string_view name_of(Solver solver);
// The inverse of name_of. Accepts "interior", the deprecated name of kInteriorPoint, with a warning. Throws
// ConfigError, which lists the valid names.
Solver parse_solver(std::string_view name);
std::vector<std::string> solver_names();

// Convergence history: one record per iteration.
struct Progress {
  int iteration = 0;
  double passes = 0;  // over the data; a sample counts as its fraction of the rows
  double seconds = 0;
  double objective = 0;
  double dual_gap = 0;  // certified: the optimum is at most this much below `objective`
};

// Objective: sum over rows of weight * loss + l2 / 2 * |w|^2 + l1 * |w|_1.
struct GlmOptions {
  Loss loss = Loss::kLogistic;
  double l1 = 0, l2 = 1;
  bool fit_intercept = true;
  // Penalised like the weight of a constant column of `intercept_value`.
  bool penalise_intercept = false;
  double intercept_value = 1;
  Solver solver = Solver::kAuto;
  // Stop when the duality gap is at most this fraction of the objective.
  double tolerance = 1e-6;
  int max_iterations = 1000;
  int threads = 0;  // 0: one per CPU
  std::uint64_t seed = 0;
  // Start values; empty: none. One coefficient per column; for multinomial models class by class, with
  // start_intercepts.
  std::vector<double> start_coefficients = {};
  double start_intercept = 0;
  std::vector<double> start_intercepts = {};  // multinomial: one per class; empty: 0
  // SDCA with ranks: local rounds between two exchanges. 0: chosen from the measured times of computation and
  // communication, so results may differ between runs.
  int inner_rounds = 0;
  // Communicator whose ranks hold different rows; null: single process. All ranks must pass the same options.
  comm::Communicator* ranks = nullptr;
  // Called after each iteration on the calling thread. Returning false ends the fit with the current weights.
  std::function<bool(const Progress&)> on_progress = {};
  // Called before every chunk of an out-of-core fit, where an iteration can take long, on the calling thread. Returning
  // true ends the fit with the current weights, and with objective and gap of the last iteration. Not called with
  // ranks, which would deadlock.
  std::function<bool()> should_stop = {};
};

struct GlmModel {
  std::vector<double> coefficients;  // one per column
  double intercept = 0;
  double objective = 0, dual_gap = 0;
  bool has_converged = false;
  Solver solver = Solver::kAuto;  // solver that was used
  std::string why = {};           // reason for it, a short sentence
  int inner_rounds = 0;           // SDCA with ranks: final value
  std::vector<Progress> history;

  int iterations() const { return history.empty() ? 0 : history.back().iteration; }
};

struct MultinomialModel {
  std::vector<double> coefficients;  // class by class, one per column
  std::vector<double> intercepts;    // one per class; their sum is 0
  double objective = 0, dual_gap = 0;
  bool has_converged = false;
  std::vector<Progress> history;
};

}  // namespace tutti::learn
