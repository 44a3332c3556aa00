// Bayesian optimisation with Gaussian processes.
//
// 1. A Gaussian process is fitted to the losses of the complete and pruned trials. The losses are first transformed to
//    be as close to normal as a power transform makes them (Yeo-Johnson, at most a logarithm), so a few very bad trials
//    do not hide the differences between good ones.
// 2. Running trials are taken as observed with their predicted loss, so parallel trials are not drawn to one point.
// 3. The next trial maximizes the log expected improvement. With constraints, it is multiplied by the probability that
//    they hold. Several objectives are combined by random weights, new ones for each trial (ParEGO).
//
// Fitting the parameters of the kernel costs most. It is repeated when the number of trials has grown by a tenth, on
// the trials that had finished then, so a resumed study computes the same parameters.
#include "tutti/tune/search/gp.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "tutti/tune/search/acquisition.h"
#include "tutti/tune/search/gaussian_process.h"
#include "tutti/tune/search/power_transform.h"

namespace tutti::tune {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Numbers = std::vector<std::int64_t>;

constexpr double kWeightOfSum = 0.05;  // of the augmented Chebyshev scalarization
constexpr Index kIncumbents = 5;

// Number of trials to which the kernel is fitted when there are `count`.
Index fitted_trials(Index count) {
  Index fitted = 1;
  while (fitted + std::max<Index>(fitted / 10, 1) <= count)
    fitted += std::max<Index>(fitted / 10, 1);
  return fitted;
}

// A pruned trial counts with its last report. It would have ended with a better value, but it was behind others.
bool is_observed(const Trial& trial) {
  const bool has_report = !trial.reports.empty() && !std::isnan(trial.reports.back().value);
  return trial.state == TrialState::kComplete || (trial.state == TrialState::kPruned && has_report);
}

double observed_loss(const History& history, const Trial& trial, std::size_t objective) {
  return trial.state == TrialState::kComplete ? history.loss(trial, objective)
                                              : history.signed_report(trial.reports.back().value);
}

// Replaces infinite losses by the worst or best finite one.
void make_finite(Eigen::Ref<VectorXd> losses) {
  double low = 0, high = 0;
  bool is_first = true;
  for (const double loss : losses) {
    if (!std::isfinite(loss)) continue;
    low = is_first ? loss : std::min(low, loss);
    high = is_first ? loss : std::max(high, loss);
    is_first = false;
  }
  for (double& loss : losses) {
    if (!std::isfinite(loss)) loss = loss > 0 ? high : low;
  }
}

class GpSampler : public Sampler {
 public:
  GpSampler(const GpOptions& options, std::uint64_t seed)
      : Sampler(seed), options_(options), startup_(make_sobol_sampler(seed)) {}

  Suggestion suggest(const History& history, const Space& space, std::int64_t number) override {
    Numbers observed;
    for (const Trial& trial : history.trials()) {
      if (is_observed(trial)) observed.push_back(trial.number);
    }
    if (space.empty()) return {};
    if (observed.size() < startup_trials(space)) return startup_->suggest(history, space, number);
    Random random = random_for(seed(), number, space);
    VectorXd losses = scalar_losses(history, observed, random);
    keep_informative(observed, losses);
    const GpInputs inputs = inputs_of(history, space, observed);
    const Index fitted = fitted_trials(losses.size());
    const VectorXd values = power_transformed(losses);
    GaussianProcess objective(inputs, values,
                              parameters_for(0, inputs, power_transformed(losses.head(fitted))));
    Acquisition acquisition{&objective};
    add_constraints(history, observed, inputs, acquisition);
    const Numbers running = running_trials(history, number);
    if (!running.empty()) {
      const MatrixXd points = inputs_of(history, space, running).points;
      objective = objective.with_predicted(points);
      for (GaussianProcess& constraint : acquisition.constraints) {
        constraint = constraint.with_predicted(points);
      }
    }
    set_best(history, observed, values, acquisition);
    const VectorXd point =
        maximize(acquisition, space, incumbents(inputs, values), inputs.points, random);
    return {values_of(space, point)};
  }

 private:
  std::size_t startup_trials(const Space& space) const {
    if (options_.startup_trials > 0) return static_cast<std::size_t>(options_.startup_trials);
    return std::clamp<std::size_t>(2 * space.size(), 5, 10);
  }

  static Numbers running_trials(const History& history, std::int64_t number) {
    Numbers running;
    for (const Trial& trial : history.trials()) {
      if (trial.state == TrialState::kRunning && trial.number != number &&
          !trial.parameters.empty()) {
        running.push_back(trial.number);
      }
    }
    return running;
  }

  // One loss per trial; of several objectives the augmented Chebyshev scalarization with random weights.
  static VectorXd scalar_losses(const History& history, const Numbers& numbers, Random& random) {
    const auto count = static_cast<Index>(numbers.size());
    const auto objectives = static_cast<Index>(history.objectives());
    MatrixXd losses(count, objectives);
    for (Index i = 0; i < count; ++i) {
      const Trial& trial = history.trial(numbers[static_cast<std::size_t>(i)]);
      for (Index j = 0; j < objectives; ++j)
        losses(i, j) = observed_loss(history, trial, static_cast<std::size_t>(j));
    }
    for (Index j = 0; j < objectives; ++j) make_finite(losses.col(j));
    if (objectives == 1) return losses.col(0);
    VectorXd weights(objectives);
    for (Index j = 0; j < objectives; ++j) weights[j] = -std::log(1 - random.uniform());
    weights /= weights.sum();
    for (Index j = 0; j < objectives; ++j) {
      const double low = losses.col(j).minCoeff(), width = losses.col(j).maxCoeff() - low;
      losses.col(j) = weights[j] * (losses.col(j).array() - low) / (width > 0 ? width : 1);
    }
    return losses.rowwise().maxCoeff() + kWeightOfSum * losses.rowwise().sum();
  }

  // Reduces the trials to the best half and the newest half of `most_trials`.
  void keep_informative(Numbers& numbers, VectorXd& losses) const {
    const std::size_t most = options_.most_trials;
    if (numbers.size() <= most) return;
    std::vector<Index> order(numbers.size() - most / 2);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](Index a, Index b) { return losses[a] < losses[b]; });
    order.resize(most - most / 2);
    std::sort(order.begin(), order.end());
    for (std::size_t i = numbers.size() - most / 2; i < numbers.size(); ++i) {
      order.push_back(static_cast<Index>(i));
    }
    Numbers kept;
    for (const Index i : order) kept.push_back(numbers[static_cast<std::size_t>(i)]);
    losses = VectorXd(losses(order));
    numbers = std::move(kept);
  }

  // Parameters that a trial does not have are in the middle, or the first choice.
  static GpInputs inputs_of(const History& history, const Space& space, const Numbers& numbers) {
    GpInputs inputs{MatrixXd(numbers.size(), space.size()), {}};
    for (std::size_t d = 0; d < space.size(); ++d) {
      const Distribution& distribution = space[d].distribution;
      const Column* column = history.column(space[d].name);
      inputs.is_choice.push_back(distribution.is_categorical());
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const double value = column ? column->values[static_cast<std::size_t>(numbers[i])] : NAN;
        double& position = inputs.points(static_cast<Index>(i), static_cast<Index>(d));
        if (distribution.is_categorical()) {
          position = std::isnan(value) ? 0 : value;
        } else {
          position = std::isnan(value) ? 0.5 : distribution.position_of(value);
        }
      }
    }
    return inputs;
  }

  // Parameters of the kernel of one process: 0 is the objective, the others are the constraints. `values` are those of
  // the first trials.
  const GpParameters& parameters_for(std::size_t process, const GpInputs& inputs,
                                     const VectorXd& values) {
    if (fits_.size() <= process) fits_.resize(process + 1);
    Fit& fit = fits_[process];
    const GpInputs first{inputs.points.topRows(values.size()), inputs.is_choice};
    const bool is_same = fit.values.size() == values.size() && fit.values == values &&
                         fit.points.cols() == first.points.cols() && fit.points == first.points;
    if (!is_same) fit = {first.points, values, fit_parameters(first, values)};
    return fit.parameters;
  }

  void add_constraints(const History& history, const Numbers& numbers, const GpInputs& inputs,
                       Acquisition& acquisition) {
    std::size_t constraints = 0;
    for (const std::int64_t number : numbers) {
      constraints = std::max(constraints, history.trial(number).constraints.size());
    }
    for (std::size_t c = 0; c < constraints; ++c) {
      VectorXd values(static_cast<Index>(numbers.size()));
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::vector<double>& own = history.trial(numbers[i]).constraints;
        values[static_cast<Index>(i)] = c < own.size() ? own[c] : 0;
      }
      const GpParameters& parameters =
          parameters_for(c + 1, inputs, standardized(values.head(fitted_trials(values.size()))));
      const double mean = values.mean();
      const double deviation = std::sqrt((values.array() - mean).square().mean());
      acquisition.constraints.emplace_back(inputs, standardized(values), parameters);
      acquisition.limits.push_back(-mean / (deviation > 0 ? deviation : 1));
    }
  }

  // The best loss of a feasible trial. As long as there is none, only the constraints count.
  static void set_best(const History& history, const Numbers& numbers, const VectorXd& values,
                       Acquisition& acquisition) {
    std::optional<double> best;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (history.trial(numbers[i]).violation() > 0) continue;
      const double value = values[static_cast<Index>(i)];
      best = best ? std::min(*best, value) : value;
    }
    if (best) {
      acquisition.best = *best;
    } else {
      acquisition.objective = nullptr;
    }
  }

  static MatrixXd incumbents(const GpInputs& inputs, const VectorXd& values) {
    std::vector<Index> order(static_cast<std::size_t>(values.size()));
    std::iota(order.begin(), order.end(), 0);
    const Index count = std::min<Index>(kIncumbents, values.size());
    std::partial_sort(order.begin(), order.begin() + count, order.end(),
                      [&](Index a, Index b) { return values[a] < values[b]; });
    order.resize(static_cast<std::size_t>(count));
    return inputs.points(order, Eigen::all);
  }

  static std::vector<double> values_of(const Space& space, const VectorXd& point) {
    std::vector<double> values;
    for (std::size_t d = 0; d < space.size(); ++d) {
      const Distribution& distribution = space[d].distribution;
      const double position = point[static_cast<Index>(d)];
      values.push_back(distribution.is_categorical() ? position : distribution.value_at(position));
    }
    return values;
  }

  struct Fit {
    MatrixXd points;
    VectorXd values;
    GpParameters parameters;
  };

  GpOptions options_;
  std::unique_ptr<Sampler> startup_;
  std::vector<Fit> fits_;
};

}  // namespace

std::unique_ptr<Sampler> make_gp_sampler(const GpOptions& options, std::uint64_t seed) {
  return std::make_unique<GpSampler>(options, seed);
}

}  // namespace tutti::tune
